"""One thread a process, before torch is imported: small products gain nothing from more, and busy cores make them wait."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
