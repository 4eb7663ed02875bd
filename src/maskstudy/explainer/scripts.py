r"""Plain ES modules into one script that runs from a file on disk.

A browser loads no module that stands beside a page on disk, so the modules must stand in the page. Each becomes a
function that is called once and gives what it exports; its imports become the names that it takes from the others. The
`$` keeps the names of modules apart from the names inside them:

    import { wave } from "./sea.mjs";            const { wave } = $sea;
    export function surf() { … }                 function surf() { … }
                                                 return { surf };

That is all that is understood, on purpose. `combined` refuses whatever else an import or export may look like.

    >>> print(combined({"main": 'import { wave } from "./sea.mjs";\nwave();', "sea": "export const wave = () => 1;"}))
    const $sea = (() => {
    const wave = () => 1;
    return { wave };
    })();
    <BLANKLINE>
    const $main = (() => {
    const { wave } = $sea;
    wave();
    return {  };
    })();
"""

import re
from collections.abc import Mapping

from maskstudy.errors import StudyError

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(?:\./|\.\./)*([\w/]+)\.mjs";\n?', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def combined(modules: Mapping[str, str], start: str = "main") -> str:
    """One script of all modules that `start` needs, each after those that it imports.

    Args:
        modules: source by name; `lessons/steps` is imported as `./lessons/steps.mjs`, from within its folder as
            `./steps.mjs` or by its way from above. Last parts of names must differ.
        start: the module that runs the page.

    Raises:
        StudyError: a module is missing, imports itself by way of others, or imports or exports in another form.
    """
    sources = {name.rpartition("/")[2]: source for name, source in modules.items()}
    ordered: dict[str, str] = {}

    def add(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise StudyError(f"explainer: modules import each other: {' -> '.join((*way, name))}")
        if name in ordered:
            return
        if name not in sources:
            raise StudyError(f"explainer: there is no module {name!r}, which {way[-1] if way else 'the page'} imports")
        for _, other in _IMPORT.findall(sources[name]):
            add(other.rpartition("/")[2], (*way, name))
        ordered[name] = _as_function(name, sources[name])

    add(start, ())
    return "\n\n".join(ordered.values())


def _as_function(name: str, source: str) -> str:
    exported = _EXPORT.findall(source)
    body = _IMPORT.sub(lambda found: _taken(found[1], found[2].rpartition("/")[2]), source)
    body = _EXPORT.sub("", body)
    if other := _OTHER.search(body):
        raise StudyError(f"explainer: module {name}: {other[0]!r} is not understood; see maskstudy.explainer.scripts")
    return f"const ${name} = (() => {{\n{body.rstrip()}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _taken(names: str, module: str) -> str:
    """The names that a module takes from another, on one line; `a as b` becomes `a: b`."""
    taken = [name.strip().replace(" as ", ": ") for name in names.split(",") if name.strip()]
    return f"const {{ {', '.join(taken)} }} = ${module};\n"
