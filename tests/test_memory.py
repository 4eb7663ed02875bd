import ctypes
import subprocess
import sys

import pytest

from maskstudy.memory import keep_freed_memory

ALLOCATING = """
import resource
import numpy as np
from maskstudy.memory import keep_freed_memory
{hint}
for time in range(64):
    if time == 4:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    a, b = (np.ones(40_000_000, dtype=np.uint8) for _ in range(2))  # larger than what glibc keeps by itself
    del a, b
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(hint):
    """Pages that a process which makes and frees large arrays gets anew, once it has made its first."""
    command = [sys.executable, "-c", ALLOCATING.format(hint=hint)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_what_was_freed_is_not_asked_for_again():
    assert faults("keep_freed_memory()") < 0.1 * faults("")


def test_nothing_happens_where_the_library_knows_no_such_hint(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    keep_freed_memory()
