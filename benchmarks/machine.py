"""Which machine, and how busy it was: a number without it says nothing."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def description() -> dict[str, str]:
    """Processor, cores, threads of torch, versions, and the load when the benchmarks began."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "load average": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        **{name: _version(name) for name in ("torch", "snakemake", "transformers", "x-transformers")},
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
