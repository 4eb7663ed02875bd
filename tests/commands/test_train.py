import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from maskstudy import checkpoints, tasks
from maskstudy.commands import train
from maskstudy.errors import StudyError
from maskstudy.files import read_json, read_table, write_json
from maskstudy.model import Transformer, parameter_count
from maskstudy.schemas import HISTORY, TIMING
from maskstudy.shape import build_shape
from small_study import HMM, MODEL, TRAINING, cell, settings

FILES = ("model.safetensors", "history.parquet", "cost.json", "timing.json")
PURE = FILES[:-1]  # functions of their inputs: wall time stands in timing.json alone


def arguments(
    folder,
    run="run",
    seed=0,
    mask="causal",
    role="study",
    audit=None,
    tuning=None,
    device="cpu",
    model=MODEL,
    **training,
):
    if audit is not None:
        write_json(folder / "audit.json", audit)
    write_json(folder / "tuning.json", {**cell(mask, role), "chosen": 1} if tuning is None else tuning)
    given = settings(cell=cell(mask, role), task=HMM, model=model, training=TRAINING | training, device=device)
    paths = {
        "data": folder / "data",
        "audit": folder / "audit.json",
        "tuning": folder / "tuning.json",
        "run": folder / run,
    }
    return [*given, "--seed", str(seed), *(part for name, path in paths.items() for part in (f"--{name}", str(path)))]


def run(folder, run="run", **given):
    train.main(arguments(folder, run, **given))
    return folder / run


def test_a_run_leaves_its_model_curve_cost_and_time_and_never_opens_test(study):
    folder = run(study)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    cost = read_json(folder / "cost.json")
    shape = build_shape(tasks.build(HMM), MODEL)
    assert cost == {
        "steps": 6,
        "tokens_seen": 6 * 8 * 6,
        "targets_seen": 6 * 8 * 6,
        "train_flops": cost["train_flops"],
        "parameters": parameter_count(Transformer(shape)),
    }
    history = read_table(folder / "history.parquet", HISTORY).to_pylist()
    assert [(row["step"], row["split"]) for row in history[-2:]] == [(6, "train"), (6, "validation")]


def test_the_model_can_be_loaded_and_says_what_it_is(study):
    folder = run(study, mask="full", audit={**cell("full"), "leaks": False})
    shape = build_shape(tasks.build(HMM), MODEL)
    found = checkpoints.read(folder / "model.safetensors")
    assert (found.cell, found.shape) == (cell("full"), shape)
    assert tasks.build(found.task) == tasks.build(HMM)
    model = Transformer(shape)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    assert model.blocks[0].contract.weight.abs().sum() > 0  # it starts at 0


def test_the_time_is_that_of_a_single_thread(study):
    timing = read_json(run(study, seed=3) / "timing.json")
    assert set(TIMING.names) <= set(timing)
    assert (timing["task"], timing["mask"], timing["seed"], timing["threads"]) == ("hmm_tagging", "causal", 3, 1)
    assert timing["train_seconds"] > 0
    assert timing["cpu_seconds"] > 0
    assert timing["peak_memory_bytes"] > 10_000_000


def test_the_time_says_where_it_was_spent(study):
    assert read_json(run(study) / "timing.json")["device"] == "cpu"


def test_a_device_that_is_not_there_stops_the_run_in_one_line(study, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(StudyError, match="no CUDA device") as raised:
        run(study, device="cuda")
    assert "\n" not in str(raised.value)
    assert not (study / "run").exists()


def test_a_model_of_the_large_preset_takes_a_step(study):
    large = yaml.safe_load((Path(__file__).parents[2] / "profiles/large/study.yaml").read_text(encoding="utf-8"))
    folder = run(study, device=large["device"], model=MODEL | large["model"], steps=1, batch=2)
    assert read_json(folder / "cost.json")["parameters"] > 25_000_000
    assert {value.dtype for value in load_file(folder / "model.safetensors").values()} == {torch.float32}


def test_auto_without_cuda_is_the_processor_to_the_bit(study, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    asked, found = run(study, "asked"), run(study, "found", device="auto")
    for name in PURE:
        assert (asked / name).read_bytes() == (found / name).read_bytes()
    assert read_json(found / "timing.json")["device"] == "cpu"


def test_the_same_command_gives_the_same_bytes_however_often(study):
    first, *others = (run(study, str(number)) for number in range(5))
    for name in PURE:
        assert {(other / name).read_bytes() for other in others} == {(first / name).read_bytes()}
    another = run(study, "another", seed=1)
    assert (first / "model.safetensors").read_bytes() != (another / "model.safetensors").read_bytes()


def test_the_threads_of_the_caller_do_not_matter(study):
    one = run(study, "one")
    torch.set_num_threads(2)
    other = run(study, "other")
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    assert read_json(other / "timing.json")["threads"] == 1
    assert torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    "audit",
    [
        {**cell(), "leaks": True},
        {**cell("full"), "leaks": False},
        {**cell(role="control"), "leaks": True},
        {**cell(task="masked_byte"), "leaks": False},
        cell(),
        {},
    ],
    ids=["a leak", "another mask", "another role", "another task", "no verdict", "empty"],
)
def test_nothing_trains_that_the_audit_has_not_passed(study, audit):
    with pytest.raises(StudyError, match="the audit is not a pass of task hmm_tagging, mask causal") as raised:
        run(study, audit=audit)
    assert "\n" not in str(raised.value)
    assert not (study / "run").exists()


def test_both_rates_are_those_that_the_cell_chose(study):
    tuned = run(study, "tuned", tuning={**cell(), "chosen": 0.5})
    rates = {name: 0.5 * TRAINING[name] for name in ("learning_rate", "adamw_learning_rate")}
    written = run(study, "written", **rates)
    for name in PURE:
        assert (tuned / name).read_bytes() == (written / name).read_bytes()
    untuned = run(study, "untuned")
    assert (tuned / "model.safetensors").read_bytes() != (untuned / "model.safetensors").read_bytes()


@pytest.mark.parametrize("tuning", [{**cell("full"), "chosen": 1}, {**cell(role="control"), "chosen": 1}, {}])
def test_rates_of_another_cell_are_refused(study, tuning):
    with pytest.raises(StudyError, match="the learning rates were not chosen for task hmm_tagging, mask causal"):
        run(study, tuning=tuning)
    assert not (study / "run").exists()


def test_a_control_trains_where_it_leaks_and_only_there(study):
    run(study, role="control", audit={**cell(role="control"), "leaks": True})
    with pytest.raises(StudyError, match="the audit is not a pass"):
        run(study, role="control", audit={**cell(role="control"), "leaks": False})


def test_without_an_audit_nothing_trains(study):
    (study / "audit.json").unlink()
    with pytest.raises(StudyError, match=r"audit\.json: no such file"):
        run(study)


def test_a_run_that_fails_leaves_no_file(study):
    with pytest.raises(StudyError, match="loss is"):
        run(study, learning_rate=1e38, adamw_learning_rate=1e38)
    assert not (study / "run").exists()


def test_progress_is_printed_with_the_name_of_the_run(study, capsys):
    run(study, seed=4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("hmm_tagging causal seed 4  step ") for line in lines)


def test_a_run_does_not_pay_for_loading_the_compiler_of_pytorch(study):
    code = (
        "import sys; from maskstudy.commands import train; train.main(sys.argv[1:]);"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments(study)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
