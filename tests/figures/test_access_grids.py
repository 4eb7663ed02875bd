from matplotlib.collections import PatchCollection

from maskstudy.figures import access_grids
from maskstudy.figures.results import Results, Settings
from maskstudy.files import read_json, write_json


def words(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_data_hold_every_grid(results):
    data = access_grids.data(results)
    for cell in results.settings.cells:
        grid = read_json(results.folder / "audit" / cell.task / f"{cell.mask}.json")["grid"]
        for layer, matrix in {**dict(zip("123", grid["layers"], strict=True)), "all": grid["access"]}.items():
            keys = data.filter(task=cell.task, mask=cell.mask, layer=layer)["keys"]
            assert [[int(str(key) in row.split()) for key in range(8)] for row in keys] == matrix


def test_a_mask_is_drawn_once_and_every_cell_has_its_verdict(studies):
    results = studies("controls and own masks")
    texts = words(access_grids.draw(access_grids.data(results)))
    for mask in {cell.mask for cell in results.settings.cells}:
        assert [text.replace("\n", "") for text in texts].count(mask) == 1
    controls = [cell for cell in results.settings.cells if cell.role == "control"]
    assert texts.count("leaks (control)") == len(controls) == 1
    assert texts.count("no leak") == len(results.settings.cells) - 1


def test_squares_are_coloured_where_the_query_sees_the_key(studies):
    results = studies("one mask")
    (axes,) = access_grids.draw(access_grids.data(results)).axes
    squares = [len(collection.get_paths()) for collection in axes.findobj(PatchCollection)]
    # Causal over 8 positions: 28 pairs not seen, 36 seen. All layers are alike: one grid for them, one for access.
    assert squares == [28, 36, 28, 36]


def test_a_leak_under_a_study_mask_is_not_called_a_control(results, tmp_path):
    audit = read_json(results.folder / "audit" / "masked_byte" / "full.json")
    write_json(tmp_path / "audit" / "masked_byte" / "full.json", {**audit, "leaks": True})
    cells = [{"task": "masked_byte", "mask": "full", "role": "study", "seeds": [0]}]
    leaking = Results(tmp_path, Settings.of({"cells": cells, "confirmatory": True}))
    texts = words(access_grids.draw(access_grids.data(leaking)))
    assert "leaks" in texts
    assert "leaks (control)" not in texts


def test_one_name_with_two_looks_has_two_columns(results, tmp_path):
    audit = read_json(results.folder / "audit" / "masked_byte" / "causal.json")
    grid = {**audit["grid"], "access": [[1] * 8] * 8}
    write_json(tmp_path / "audit" / "a" / "causal.json", {**audit, "task": "a"})
    write_json(tmp_path / "audit" / "b" / "causal.json", {**audit, "task": "b", "grid": grid})
    cells = [{"task": task, "mask": "causal", "role": "study", "seeds": [0]} for task in "ab"]
    results = Results(tmp_path, Settings.of({"cells": cells, "confirmatory": True}))
    texts = words(access_grids.draw(access_grids.data(results)))
    assert texts.count("causal") == texts.count("no leak") == 2


def test_deeper_models_share_a_column_and_layers_that_differ_have_rows(results, tmp_path):
    def write(task, layers):
        audit = read_json(results.folder / "audit" / "hmm_tagging" / "lookahead-2.json")
        chosen = [audit["grid"]["layers"][layer] for layer in layers]
        grid = {**audit["grid"], "layers": chosen}
        write_json(tmp_path / "audit" / task / "lookahead-2.json", {**audit, "task": task, "grid": grid})

    write("shallow", [0, 1])
    write("deep", [0, 1, 1, 1, 1])
    cells = [{"task": task, "mask": "lookahead-2", "role": "study", "seeds": [0]} for task in ("shallow", "deep")]
    both = Results(tmp_path, Settings.of({"cells": cells, "confirmatory": True}))
    texts = words(access_grids.draw(access_grids.data(both)))
    assert texts.count("lookahead-2") == 1
    assert [text for text in texts if "layer" in text] == ["first layer", "later layers", "after all layers"]

    write("deep", [0, 1, 0, 1])
    changed = Results(tmp_path, both.settings)
    texts = words(access_grids.draw(access_grids.data(changed)))
    rows = [text for text in texts if "layer" in text]
    assert rows == ["layer 1", "layer 2", "layer 3", "later layers", "after all layers"]
