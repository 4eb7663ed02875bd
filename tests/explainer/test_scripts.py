import doctest

import pytest

from maskstudy.errors import StudyError
from maskstudy.explainer import scripts
from maskstudy.explainer.scripts import combined


def test_the_example_of_the_docstring():
    assert doctest.testmod(scripts) == (0, 1)


def test_a_module_stands_once_and_after_all_that_it_imports():
    sources = {
        "main": 'import { b } from "./folder/b.mjs";\nimport { c } from "./c.mjs";\n',
        "folder/b": 'import { c } from "../c.mjs";\nexport function b() {}\n',
        "c": "export class c {}\n",
        "unused": "export const d = 1;\n",
    }
    text = combined(sources)
    assert text.count("const $c =") == text.count("const $b =") == 1
    assert text.index("const $c =") < text.index("const $b =") < text.index("const $main =")
    assert "unused" not in text


def test_names_are_exported_and_renamed():
    text = combined(
        {
            "main": 'import {\n  one as first,\n  two,\n} from "./a.mjs";\n',
            "a": "export const one = 1;\nexport async function two() {}\n",
        }
    )
    assert "const { one: first, two } = $a;" in text
    assert "return { one, two };" in text
    assert "export" not in text
    assert "import" not in text


@pytest.mark.parametrize(
    "source",
    [
        'import a from "./a.mjs";',
        'import * as a from "./a.mjs";',
        "export default 1;",
        "export { x };",
        'import "./a.mjs";',
    ],
)
def test_another_form_is_refused_and_shown(source):
    with pytest.raises(StudyError, match="is not understood"):
        combined({"main": source, "a": ""})


def test_a_missing_module_is_named_with_the_one_that_wants_it():
    with pytest.raises(StudyError, match="no module 'sea', which main imports"):
        combined({"main": 'import { wave } from "./sea.mjs";'})


def test_modules_that_import_each_other_are_named():
    sources = {"main": 'import { a } from "./a.mjs";', "a": 'import { main } from "./main.mjs";\nexport const a = 1;'}
    with pytest.raises(StudyError, match="main -> a -> main"):
        combined(sources)
