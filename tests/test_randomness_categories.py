import numpy as np

from maskstudy.randomness import categories, stream


def test_categories_come_as_often_as_they_are_likely_and_impossible_ones_never():
    rows = np.array([[0.5, 0.0, 0.3, 0.2], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    count = 20_000
    drawn = categories(np.repeat(rows, count, axis=0), np.random.default_rng(0)).reshape(3, count)
    for row, of_row in zip(rows, drawn, strict=True):
        shares = np.bincount(of_row, minlength=4) / count
        np.testing.assert_allclose(shares, row, atol=5 * np.sqrt(0.25 / count))
        assert (shares[row == 0] == 0).all()


def test_rows_need_not_sum_to_one():
    rows = np.array([[1.0, 3.0]] * 10_000)
    same = categories(rows / 4, np.random.default_rng(1))
    np.testing.assert_array_equal(categories(rows, np.random.default_rng(1)), same)
    assert abs(same.mean() - 0.75) < 0.03


def test_each_row_uses_up_one_number_whatever_its_probabilities():
    """So that two sources that draw from equal streams stay in step."""
    one, other = stream(0, "generation"), stream(0, "generation")
    categories(np.array([[1.0, 0.0]] * 7), one)
    categories(np.array([[0.1, 0.2, 0.7]] * 7), other)
    assert one.random() == other.random()
