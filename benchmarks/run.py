"""All benchmarks, or some: `python benchmarks/run.py --help`."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, here and in every process started
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder that holds this package, not the package's own
    from benchmarks.commandline import main

    main()
