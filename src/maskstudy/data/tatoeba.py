"""Spanish sentences of Tatoeba, from a table of English sentences with their translations."""

from maskstudy.data.documents import Document
from maskstudy.data.groups import split_by_group
from maskstudy.data.words import likeness
from maskstudy.errors import StudyError


def sentences(table: str) -> dict[str, list[Document]]:
    """The different Spanish sentences by split, each a document.

    A sentence stands in the table once for each English one that it translates; here it stands once. Sentences that
    differ in accents, case or punctuation alone are one group: without its accents, one gives the other away.

    Args:
        table: lines of `English<TAB>Spanish<TAB>licence and authors`.

    Raises:
        StudyError: a line has no second column.
    """
    found: dict[str, None] = {}
    for number, line in enumerate(table.removesuffix("\n").split("\n"), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise StudyError(f"spanish: line {number} has no second column; the table is not the one that is expected")
        found[columns[1]] = None
    return split_by_group([Document(likeness(sentence), sentence) for sentence in found], "spanish")
