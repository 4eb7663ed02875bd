"""One thread a process, set before torch is imported: small products gain nothing from more."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
