"""Where a model is trained: on the processor, or on a graphics processor (CUDA) with matrix products in bfloat16.

Weights, their gradients and the optimiser are float32 on either; what is saved stands in the main memory. Everything
after training runs on the processor.
"""

import os
from contextlib import AbstractContextManager

import torch

from maskstudy.errors import StudyError


def chosen(name: str) -> torch.device:
    """The device that `device` of config.yaml means on this machine.

    Args:
        name: `cpu`; `cuda`; or `auto`, which is `cuda` where there is one and else `cpu`.

    Raises:
        StudyError: `cuda` is asked for where PyTorch finds none, or there is no such device.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise StudyError(f"device: {name!r} is not known; allowed: auto, cpu, cuda")
    if name == "cpu":
        return torch.device("cpu")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise StudyError(
            f"device: cuda, but PyTorch {torch.__version__} finds no CUDA device here; set `device: cpu` or "
            "`device: auto` in config.yaml, or install a build of PyTorch for CUDA and its driver"
        )
    return torch.device("cuda" if there else "cpu")


def ask_for_determinism(device: torch.device) -> None:
    """Let PyTorch refuse operations whose result differs from call to call. Call it before the device is first used."""
    # The switch of `use_deterministic_algorithms`, which would also load the compiler: one second more a run.
    torch.set_deterministic_debug_mode("error")
    if device.type == "cuda":
        # cuBLAS sums in a fixed order only if its workspace is fixed (docs of `use_deterministic_algorithms`).
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def reduced_precision(device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in bfloat16 on CUDA, where that is many times faster; everything in float32 on the processor."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def described(device: torch.device) -> str:
    """`cpu`, or the name of the graphics processor: `cuda (NVIDIA A100)`."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
