"""What the verbs that train, `train` and `tune`, have in common."""

from collections.abc import Mapping

import torch

from maskstudy import device
from maskstudy.errors import StudyError


def set_up_process(name: str) -> torch.device:
    """One thread and deterministic operations: sums in another order give other bits.

    Args:
        name: `device` of config.yaml.

    Returns:
        The device to train on.

    Raises:
        StudyError: as `device.chosen`.
    """
    chosen = device.chosen(name)
    torch.set_num_threads(1)
    device.ask_for_determinism(chosen)
    return chosen


def check_audit(verdict: Mapping[str, object], cell: Mapping[str, str]) -> None:
    """Nothing trains but the cell that passed this audit.

    Raises:
        StudyError: the audit is of another cell, or its verdict is not the one that the role of the cell asks for.
    """
    passed = {**cell, "leaks": cell["role"] == "control"}
    if {name: verdict.get(name) for name in passed} != passed:
        where = f"task {cell['task']}, mask {cell['mask']}"
        raise StudyError(f"the audit is not a pass of {where} ({cell['role']}); run the rule audit again")
