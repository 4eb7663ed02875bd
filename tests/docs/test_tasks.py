"""What docs/tasks.md says of its entries for config.yaml; that they are valid is a test of the config."""

import re
from pathlib import Path

import yaml

from maskstudy.config import supervision

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tasks.md").read_text(encoding="utf-8")
ENTRIES = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_entries_of_final_byte_are_put_side_by_side():
    (entries,) = (entries for entries in ENTRIES if "final_byte" in entries["tasks"])
    study = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert supervision(study | {"tasks": study["tasks"] | entries["tasks"]}) == [
        "next_byte",
        "final_byte",
        "next_byte_few",
    ]
    training = {name: entry["training"] for name, entry in entries["tasks"].items()}
    windows = {name: given["steps"] * given["batch"] for name, given in training.items()}
    assert windows["final_byte"] == windows["next_byte"]  # matched on windows, …
    assert windows["final_byte"] == 128 * windows["next_byte_few"]  # … and on answers
