"""The same study in another folder and on another number of cores: the same bytes."""

import shutil

TIMED = {"timing.json", "timing.parquet", "cost.csv", "paper.pdf", "report.html"}  # these hold wall time or a date


def test_neither_the_folder_nor_the_number_of_cores_changes_a_byte(finished, study):
    assert finished.outcome.status == 0, finished.outcome.output
    alone = study.run(cores=1)
    assert alone.status == 0, alone.output
    first, second = (_contents(one.results) for one in (finished.study, study))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert sum(name.endswith(".safetensors") for name in first) == 8

    # Given the same seconds, the paper is the same too.
    shutil.copy(finished.study.results / "timing.parquet", study.results / "timing.parquet")
    assert study.run("results/paper.pdf", cores=1).jobs == {"paper": 1}
    for name in ("paper.pdf", "tables/cost.csv"):
        assert (study.results / name).read_bytes() == (finished.study.results / name).read_bytes()


def _contents(results):
    files = (path for path in results.rglob("*") if path.is_file() and path.suffix != ".log")
    return {str(path.relative_to(results)): path.read_bytes() for path in files if path.name not in TIMED}
