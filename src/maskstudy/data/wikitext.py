"""WikiText (Merity et al. 2017): raw text to articles.

The raw files are one long text. A heading stands on a line of its own between two empty lines, with one `=` a side for
an article's title and more for its sections:

    ␠
    ␠=␠Robert␠Boulter␠=␠
    ␠
    ␠=␠=␠Career␠=␠=␠
"""

import re

from maskstudy.data.documents import Document
from maskstudy.errors import StudyError

# The empty lines tell a title from a formula or a table's key that was cut at its `=` (` = Wins ; L = `), of which
# WikiText-2 holds 31. The line after is looked at but not taken: it may be the empty line before the next title.
_TITLE = re.compile(r"(?:\A|^ *\n) = (?!= )(?P<title>[^\n]+)(?<! =) = *\n(?= *(?:\n|\Z))", re.MULTILINE)


def articles(text: str) -> list[Document]:
    """Cut a raw WikiText file into its articles, in order; `group` is the title.

    An article begins with the empty line before its title, and the first one at the beginning of the file, so that
    the texts of all articles, one after another, are the file again.

    Raises:
        StudyError: there is no title in `text`.
    """
    titles = list(_TITLE.finditer(text))
    if not titles:
        raise StudyError("wikitext: no article title (a line ` = Title = ` between empty lines); is this raw WikiText?")
    starts = [0, *(title.start() for title in titles[1:]), len(text)]
    return [
        Document(title["title"], text[start:end])
        for title, start, end in zip(titles, starts[:-1], starts[1:], strict=True)
    ]
