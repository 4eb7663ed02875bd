"""`maskstudy stack`: put the tables of all tasks, one below the other, into one.

`maskstudy stack swaps` reads `swaps/TASK.parquet` of each task; writes `swaps.parquet` beside the folder.
"""

import pyarrow as pa

from maskstudy import files, schemas
from maskstudy.commands import options

TABLES = {"swaps": schemas.SWAPS, "representations": schemas.REPRESENTATIONS}


def main(arguments: list[str]) -> None:
    """Write the table; without rows where no task of the study has one.

    Raises:
        StudyError: bad settings, or a table is missing or of other columns.
    """
    parser = options.parser("stack", __doc__, "tasks")
    parser.add_argument("table", choices=TABLES)
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)

    schema, folder = TABLES[given.table], given.results / given.table
    parts = [files.read_table(folder / f"{task}.parquet", schema) for task in given.settings["tasks"]]
    files.write_table(
        given.results / f"{given.table}.parquet", pa.concat_tables([schema.empty_table(), *parts]), schema
    )
