import pytest
import torch

from maskstudy import tasks
from maskstudy.data.examples import write_examples
from maskstudy.files import write_json
from small_study import HMM, cell


@pytest.fixture(autouse=True)
def torch_as_before():
    """Verbs set PyTorch up for a process of their own."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def study(tmp_path):
    """Prepared data whose test split cannot be read, and the audit of a cell that passed."""
    for split, made in tasks.build(HMM).splits(None).items():
        write_examples(tmp_path / f"data/{split}.parquet", made)
    (tmp_path / "data/test.parquet").write_text("whoever opens this file fails")
    write_json(tmp_path / "audit.json", {**cell(), "leaks": False})
    return tmp_path
