"""What the study found stands on the page with its intervals, and with the sentence on access."""

import json

import pytest


@pytest.fixture
def study(seen):
    seen.go()
    found = json.loads(seen.page.text_content("#data"))["study"]
    if found is None:
        pytest.skip("this page holds no results")
    return found


@pytest.mark.parametrize("width", [390, 1280])
def test_each_mean_of_the_dose_response_has_an_interval_and_all_seeds(visit, study, width):
    with visit(width=width) as seen:
        assert seen.page.locator("#dose figure").count() == len(study["dose_response"])
        for place, task in enumerate(study["dose_response"]):
            figure = seen.page.locator("#dose figure").nth(place)
            known = [cell for cell in task["cells"] if cell["low"] is not None]
            assert figure.locator("svg path[d*=V]").count() == len(known) > 0
            # A point for each mean, and one for each seed.
            points = sum(1 + len(cell["values"]) for cell in task["cells"])
            assert figure.locator("svg circle").count() == points
            for row, cell in enumerate(task["cells"]):
                words = figure.locator("tbody tr").nth(row).text_content()
                assert words.startswith(cell["mask"])
                assert f"{cell['mean']:.3f}" in words


def test_comparisons_say_whether_access_was_equal_and_what_bars_and_bands_are(visit, study):
    with visit() as seen:
        rows = seen.page.locator("#forest li")
        assert rows.count() == len(study["comparisons"]) > 0
        for place, comparison in enumerate(study["comparisons"]):
            words = rows.nth(place).text_content()
            assert comparison["finding"] in words
            assert ("unequal access:" in words) == (not comparison["equal_access"])
        assert "95 % interval" in seen.page.text_content("#forest-legend")
        assert seen.page.text_content("#not-superior") == study["not_superior"]
