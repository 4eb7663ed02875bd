"""`maskstudy prepare`: from raw data, or a synthetic source, to train, validation and test examples."""

from maskstudy import tasks
from maskstudy.commands import options
from maskstudy.data.datasets import documents
from maskstudy.data.examples import write_examples
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.files import write_json
from maskstudy.tasks.task import Named


def main(arguments: list[str]) -> None:
    """Write `{train,validation,test}.parquet` and `summary.json` into `--out`.

    Raises:
        StudyError: raw data is missing or damaged, or a test group or example also stands in train.
    """
    parser = options.parser("prepare", __doc__, "kind", "parameters", "dataset")
    options.add_path(parser, "raw", "folder of the fetched packages")
    options.add_path(parser, "out", "folder of the prepared examples")
    given = parser.parse_args(arguments)

    task = tasks.build(given.settings)
    raw = None if given.settings["dataset"] is None else documents(given.settings["dataset"], given.raw)
    splits, dropped = without_repeats(task.splits(raw))
    check_disjoint(splits)
    for name, examples in splits.items():
        write_examples(given.out / f"{name}.parquet", examples)
    summary = {
        name: {
            "examples": len(examples),
            "tokens": int(examples.lengths.sum()),
            "scored": int(examples.scored.sum()),
            "groups": len(set(examples.groups.tolist())),
        }
        for name, examples in splits.items()
    }
    names = task.names(raw) if isinstance(task, Named) else None
    write_json(given.out / "summary.json", {"splits": summary, "dropped_as_repeats": dropped, "names": names})
