"""Numbers computed from several aggregates: their value, how each part moves them, and when there is none."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyqbeast.approximate.estimate import (
    Aggregate,
    Combination,
    KnownBounds,
    Operation,
    Part,
    State,
    Status,
    axes_for,
    estimate,
    grid_from,
    grid_probabilities,
)
from pyqbeast.approximate.estimate.combination import (
    between,
    combined,
    curved,
    exactly,
    has_zero_divisor,
    moved,
    slopes,
)
from pyqbeast.approximate.estimate.estimates import is_null
from pyqbeast.approximate.estimate.part_sums import PartSums
from pyqbeast.approximate.estimate.rounding import exact_below
from tests.approximate.estimate.populations import one_group

MEAN = Aggregate("avg", ("a",))
SUM_A, SUM_B, COUNT = Aggregate("sum", ("a",)), Aggregate("sum", ("b",)), Aggregate("count")
RATIO = Combination((SUM_A, SUM_B), Operation("/", Part(0), Part(1)))
A_LESS_B = Combination((SUM_A, SUM_B), Operation("-", Part(0), Part(1)))
NUMBERS = st.floats(-50, 50).filter(lambda number: abs(number) > 0.1)
WRITTEN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def terms_with(signs):
    return st.recursive(
        st.sampled_from([Part(0), Part(1)]) | NUMBERS,
        lambda inner: st.builds(Operation, st.sampled_from([*signs]), inner, inner),
        max_leaves=6,
    )


TERMS, POLYNOMIALS = terms_with("+-*/"), terms_with("+-*")


def in_python(term, values):
    if isinstance(term, Operation):
        left, right = in_python(term.left, values), in_python(term.right, values)
        return WRITTEN[term.sign](left, right)
    return values[term.number] if isinstance(term, Part) else term


@pytest.mark.slow
@given(TERMS, NUMBERS, NUMBERS)
def test_a_term_is_the_arithmetic_that_it_says(term, first, second):
    found = combined(term, [np.array([first]), np.array([second])])
    try:
        expected = in_python(term, [first, second])
    except ZeroDivisionError:
        assert np.isnan(found[0])
    else:
        assert found[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@given(TERMS, NUMBERS, NUMBERS)
def test_slopes_are_those_of_small_steps(term, first, second):
    at = np.array([first, second])
    for part, slope in enumerate(slopes(term, list(at[:, None]))):
        step = 1e-6 * np.eye(2)[part]
        higher, lower = (combined(term, list((at + by)[:, None]))[0] for by in (step, -step))
        if np.isfinite(slope[0]) and abs(slope[0]) < 1e4 and abs(higher) + abs(lower) < 1e4:
            assert slope[0] == pytest.approx((higher - lower) / 2e-6, rel=1e-2, abs=1e-2)


def test_infinite_parts_move_a_term_without_a_warning():
    """Such as sums beyond doubles, which a factor of 0 makes no number of."""
    values = [np.array([np.inf]), np.array([0.0])]
    for sign in WRITTEN:
        term = Operation(sign, Part(0), Operation("*", Part(1), Part(1)))
        assert len(slopes(term, values)) == 2
        assert moved(term, values, values).shape == (1,)


@pytest.mark.slow
@given(POLYNOMIALS, *[NUMBERS] * 4)
def test_products_move_a_term_by_no_more_than_is_said_beyond_its_slopes(
    term, first, second, by_first, by_second
):
    values, by = (np.array(pair)[:, None] for pair in ((first, second), (by_first, by_second)))
    beyond = curved(term, values, lambda inner: moved(inner, values, np.abs(by)), [np.zeros(1)] * 2)[0]
    straight = combined(term, values)[0] + np.sum(np.array(slopes(term, values)) * by)
    found = combined(term, values + by)[0]
    assert abs(found - straight) <= beyond + 1e-9 * (abs(found) + abs(straight) + beyond)


def sample(a, b, requested):
    return one_group(requested, a=a, b=b)


A, B = np.random.default_rng(4).uniform(1, 3, (2, 3_000))


def test_a_ratio_of_parts_that_move_together_is_known_better_than_its_parts():
    state = sample(A, A * (2 + 1e-6 * B), [SUM_A, RATIO])
    total, ratio = estimate(state, SUM_A, 0.1), estimate(state, RATIO, 0.1)
    assert ratio.value[0] == pytest.approx(0.5, rel=1e-5)
    assert (total.margin / total.value)[0] > 0.01
    assert (ratio.margin / ratio.value)[0] < 1e-7


def test_parts_that_are_alike_in_most_keys_rest_on_the_others():
    """The price of a piece is the same but for three keys, and no row is null but for none of those seen."""
    twice = 2 * A
    twice[:3] += 1
    found = estimate(sample(A, twice, [RATIO]), RATIO, 0.1)
    assert (Status(int(found.status[0])), found.keys[0]) == (Status.FEW_KEYS, pytest.approx(3, abs=0.1))
    nulls = Combination((COUNT, Aggregate("count", ("a",))), Operation("-", Part(0), Part(1)))
    found = estimate(sample(A, B, [nulls, SUM_A]), nulls, 0.1, known=KnownBounds(1))
    assert (found.value[0], Status(int(found.status[0]))) == (0, Status.FEW_KEYS)


def test_what_no_sample_has_seen_counts_for_each_part():
    state = sample(A, B, [RATIO])
    few = KnownBounds(1, {"a": (1.0, 3.0), "b": (1.0, 3.0)})
    rare = KnownBounds(1, {"a": (1.0, 3.0), "b": (1.0, 1e6)})
    status = [Status(int(estimate(state, RATIO, 0.1, known=known).status[0])) for known in (None, few, rare)]
    assert status == [Status.SAMPLE_ONLY, Status.BOUNDED, Status.HEAVY_TAIL]


def test_the_largest_values_of_two_columns_are_not_what_one_row_has_done():
    """Hardly anything was due and not paid, in the rows seen. In one that was not, nothing need have been paid."""
    due = sample(A, A - 1e-3 * B, [A_LESS_B, RATIO])
    others = sample(A, B, [A_LESS_B, RATIO])
    known = KnownBounds(1, {"a": (1.0, 3.0), "b": (0.0, 3.0)})
    for requested in (A_LESS_B, RATIO):
        assert estimate(due, requested, 0.1, known=known).status[0] == Status.HEAVY_TAIL
        found = estimate(others, requested, 0.1, known=known)
        assert found.status[0] == Status.BOUNDED
        assert found.unseen[0] < 0.1


def test_a_correlation_of_rows_that_lie_on_a_line_is_upset_by_few_others():
    x, noise = np.random.default_rng(5).uniform(1, 3, (2, 20_000))
    corr, known = Aggregate("corr", ("a", "b")), KnownBounds(1, {"a": (1.0, 3.0), "b": (1.0, 3.0)})
    for b, expected in ((0.98 * x + 0.02 * noise, Status.HEAVY_TAIL), (noise, Status.BOUNDED)):
        assert estimate(sample(x, b, [corr]), corr, 0.1, known=known).status[0] == expected


def test_one_row_does_not_move_two_positive_sums_apart_by_both():
    """It moves their difference by the larger move, and not by the sum of both."""
    state = sample(A, B, [A_LESS_B, RATIO])
    for requested, expected in ((A_LESS_B, 3.0), (RATIO, 3.0 / B.sum())):
        sums = PartSums(state, requested)
        reach = sums.reach(sums.term, sums.sampled.sum(axis=1), lambda _: np.array([[1.0, 3.0]]))
        assert reach[0] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("usual", [(0, 0), (1, 1), (0, 1), (-0.1, 7)])
@pytest.mark.parametrize(("together", "expected"), [(0, Status.FEW_KEYS), (200, Status.SAMPLE_ONLY)])
def test_a_correlation_of_rare_flags_rests_on_the_rows_that_have_both(usual, together, expected):
    """Of these flags some 1.3 rows in 13,000 have both by chance, and a sample of none has the narrowest bounds."""
    is_a, is_b = np.zeros((2, 13_000), dtype=bool)
    is_a[:300] = is_b[300 - together : 600 - together] = True
    a, b = (np.where(is_rare, 1 - 2 * most, most) for is_rare, most in zip((is_a, is_b), usual, strict=True))
    corr = Aggregate("corr", ("a", "b"))
    assert estimate(sample(a, b, [corr]), corr, 0.01).status[0] == expected


@pytest.mark.parametrize("b_of", [{1}, {0, 1}])
def test_flags_that_exclude_or_imply_each_other_have_a_correlation(b_of):
    """No row is off the usual value in both, and one that were would hardly move it."""
    kinds = np.random.default_rng(1).integers(0, 3, 13_000)
    corr = Aggregate("corr", ("a", "b"))
    found = estimate(sample(kinds == 0, np.isin(kinds, [*b_of]), [corr]), corr, 0.01)
    assert found.status[0] == Status.SAMPLE_ONLY


def test_all_rows_give_the_exact_number():
    found = estimate(sample(A, B, [RATIO]), RATIO, 1.0)
    assert found.low[0] == found.high[0] == found.value[0] == pytest.approx(A.sum() / B.sum())


def test_there_is_no_number_without_rows_or_divided_by_zero():
    share = Combination((SUM_A, COUNT), Operation("/", Part(0), Part(1)))
    axes = axes_for([share])
    nothing = State.empty(axes, [()])
    found = estimate(nothing, share, 1.0)
    assert is_null(nothing, found).tolist() == [True]
    assert np.isnan(found.value[0])
    assert np.isnan(estimate(sample(A, 0 * B, [RATIO]), RATIO, 0.5).value[0])


@pytest.mark.parametrize(("deviation", "seed"), [(0.02, 1), (0.1, 2), (0.2, 3), (0.4, 4), (1.0, 5)])
def test_bounds_of_a_quotient_hold_however_near_to_zero_its_divisor_may_be(deviation, seed):
    """A sample of 1,000 keys in 20,000, by whose chance sum(b) is off by a share of itself. Few bounds miss."""
    rng, keys, samples = np.random.default_rng(seed), 1_000, 300
    b = rng.normal(0, 1, 20 * keys)
    b += 1 / (deviation * np.sqrt(keys)) - b.mean()
    a = 1 + rng.normal(0, 1, len(b))
    truth = a.sum() / b.sum()
    number, key = np.nonzero(rng.random((samples, len(b))) < 1 / 20)
    state = samples_of(RATIO, samples, number, a=a[key], b=b[key])
    for confidence, most_misses in ((0.95, 0.08), (0.999, 0.01)):
        found = estimate(state, RATIO, 1 / 20, confidence)
        assert np.mean((truth < found.low) | (truth > found.high)) <= most_misses
        is_told = found.status != Status.FEW_KEYS
        assert (np.isfinite(found.low) == is_told).all()
        if deviation < 0.1:
            assert is_told.all()


def off_by(point):
    """The square of how far an average is from a point."""
    return Combination((MEAN,), Operation("*", *[Operation("-", Part(0), point)] * 2))


@pytest.mark.parametrize("deviation", [0.0, 1.5, 3.0, 6.0])
def test_bounds_of_a_product_hold_however_near_to_zero_its_factors_are(deviation):
    """A thousand samples of 1,000 keys; the average is so many times off as chance puts that of a sample."""
    a = np.random.default_rng(7).normal(2 + deviation / np.sqrt(1_000), 1, (1_000, 1_000))
    assert share_held(off_by(2.0), deviation**2 / 1_000, a=a) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["var_pop", "stddev_samp"])
def test_bounds_of_a_spread_hold_where_the_squares_do_not_vary(kind):
    """Of flags that half of the rows have, or nearly so: the error of the average is all that is left."""
    rng, keys = np.random.default_rng(11), 20_000
    chance = 0.5 + 0.75 / np.sqrt(keys)
    spread = Aggregate(kind, ("a",))
    state = State.empty(axes_for([spread]), [(each,) for each in range(1_000)])
    rows = rng.poisson(keys / 128, state.sums.shape[:2])
    flags = rng.binomial(rows, chance)
    for at, moment in enumerate(state.axes.moments):
        state.sums[..., at] = flags if any(moment.powers) else rows
    variance = chance * (1 - chance)
    truth = variance if kind == "var_pop" else np.sqrt(variance)
    twice = Combination((spread,), Operation("*", Part(0), 2.0))
    for requested, value in ((spread, truth), (twice, 2 * truth)):
        found = estimate(state, requested, 0.01)
        assert np.mean((found.low <= value) & (value <= found.high)) >= 0.94


MEANS = (MEAN, Aggregate("avg", ("b",)))
THERE, BACK = (Operation("/", Part(first), Part(1 - first)) for first in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(
    "term",
    [Operation("+", THERE, BACK), Operation("+", Part(0), Operation("/", 1.0, Part(0)))],
    ids=["a/b + b/a", "a + 1/a"],
)
def test_bounds_of_quotients_hold_where_their_slopes_cancel(term, deviation):
    """Both terms are least, and flat, where the averages are 1."""
    rng, size = np.random.default_rng(5), (1_000, 1_000)
    mean = 1 + deviation * np.sqrt(2) * 0.2 / np.sqrt(1_000)
    held = share_held(
        Combination(MEANS, term),
        mean + 1 / mean,
        a=mean * rng.normal(1, 0.2, size),
        b=rng.normal(1, 0.2, size),
    )
    assert held >= 0.94


def share_held(requested, truth, **columns):
    """How many bounds hold of a thousand samples of 1,000 keys each, as columns [sample, key]."""
    samples, keys = columns["a"].shape
    number = np.repeat(np.arange(samples), keys)
    state = samples_of(requested, samples, number, **{name: each.ravel() for name, each in columns.items()})
    found = estimate(state, requested, 0.001)
    return np.mean((found.low <= truth) & (truth <= found.high))


def samples_of(requested, samples, number, **columns):
    """Many samples, each a group of one state; every row, of the sample of its number, has a key of its own."""
    slot = number * 128 + np.random.default_rng(8).integers(0, 128, len(number))
    state = State.empty(axes_for([requested]), [(each,) for each in range(samples)])
    for at, moment in enumerate(state.axes.moments):
        factors = [columns[name] ** power for name, power in zip(moment.columns, moment.powers, strict=True)]
        terms = np.prod([np.ones(len(number)), *factors], axis=0)
        state.sums[..., at] = np.bincount(slot, terms, 128 * samples).reshape(-1, 128)
    return state


def test_rows_not_seen_upset_a_product_that_is_flat_where_those_seen_are():
    square, state = off_by(A.mean()), sample(A, B, [off_by(A.mean())])
    for largest, expected in ((3.0, Status.BOUNDED), (1_000.0, Status.HEAVY_TAIL)):
        known = KnownBounds(1, {"a": (1.0, largest)})
        assert estimate(state, square, 0.1, known=known).status[0] == expected


def test_divisors_that_are_zero():
    parts = [np.array([1.0, 2.0, np.nan]), np.array([1.0, 0.0, 5.0])]
    inner = Operation("-", Part(1), 1.0)
    assert has_zero_divisor(Operation("/", Part(0), Part(1)), parts).tolist() == [False, True, False]
    assert has_zero_divisor(Operation("*", 2.0, Operation("/", Part(0), inner)), parts).tolist() == [
        True,
        False,
        False,
    ]
    assert not has_zero_divisor(Operation("*", Part(0), Part(1)), parts).any()


SPANS = st.tuples(st.integers(-5, 5), st.integers(0, 4)).map(lambda span: (span[0], span[0] + span[1]))


@pytest.mark.slow
@given(st.data(), TERMS, SPANS, SPANS)
def test_a_term_lies_between_what_follows_from_its_parts(data, term, first, second):
    ends = [[np.array([float(span[at])]) for span in (first, second)] for at in (0, 1)]
    low, high = between(term, *ends)
    inside = [np.array([data.draw(st.floats(*span))]) for span in (first, second)]
    value = combined(term, inside)[0]
    room = 1e-6 * max(1.0, abs(value)) if np.isfinite(value) else 0.0
    assert np.isnan(value) or not (value < low[0] - room or value > high[0] + room)


LARGEST = Aggregate("max", ("a",))


def test_extremes_are_combined_by_their_bounds():
    spread = Combination((LARGEST, Aggregate("min", ("a",))), Operation("-", Part(0), Part(1)))
    peak = Combination((LARGEST, MEAN), Operation("/", Part(0), Part(1)))
    state = sample(A, B, [spread, peak])
    known = KnownBounds(1, {"a": (1.0, 3.0)})
    found = estimate(state, spread, 0.1, known=known)
    assert (found.status[0], found.low[0], found.high[0]) == (Status.CERTAIN, A.max() - A.min(), 2.0)
    # Certain bounds of the largest value do not make the mean certain.
    found = estimate(state, peak, 0.1, known=known)
    assert found.status[0] == Status.BOUNDED
    assert found.low[0] < A.max() / 2 < found.high[0]
    assert estimate(state, peak, 1.0, known=known).status[0] == Status.EXACT


@pytest.mark.parametrize("divisor", [3.0, 7.0, 49.0, -60.0])
def test_certain_bounds_of_a_quotient_hold_the_one_that_was_seen(divisor):
    """49 times 1/49 is less than 1."""
    least = Combination((Aggregate("min", ("a",)),), Operation("/", Part(0), divisor))
    for value in range(1, 100):
        rows = np.linspace(value, 200, 300)
        found = estimate(sample(rows, rows, [least]), least, 0.1, known=KnownBounds(1, {"a": (0.0, 200.0)}))
        assert found.status[0] == Status.CERTAIN
        assert found.low[0] <= value / divisor <= found.high[0]


@pytest.mark.parametrize(
    ("kind", "first"),
    [(int, 2**60 + 1), (int, 2**53 - 50), (int, -(2**62) - 77), (Decimal, Decimal("1000.07"))],
)
@pytest.mark.parametrize("sign", ["-", "+", "*", "/"])
def test_certain_bounds_hold_of_numbers_that_doubles_do_not_hold(kind, first, sign):
    """Ids beyond 2^53 are rounded as they are read, and the statistics of files are too."""
    values = [first + kind(number) * (1 if kind is int else kind("0.01")) for number in range(100)]
    spread = Combination((LARGEST, Aggregate("min", ("a",))), Operation(sign, Part(0), Part(1)))
    read = np.array([float(each) for each in values[1:-1:4]])
    known = KnownBounds(1, {"a": (float(values[0]), float(values[-1]))})
    limits = {part: exact_below(0 if kind is int else 2) for part in spread.parts}
    found = estimate(sample(read, read, [spread]), spread, 0.25, known=known, exact_below=limits)
    most, least = Fraction(values[-1]), Fraction(values[0])
    truth = {"-": most - least, "+": most + least, "*": most * least, "/": most / least}[sign]
    assert found.status[0] == Status.CERTAIN
    assert Fraction(found.low[0]) <= truth <= Fraction(found.high[0])
    exact = estimate(sample(read, read, [spread]), spread, 1.0, exact_below=limits)
    assert exact.low[0] == exact.value[0] == exact.high[0]


TENTH_MORE = Operation("+", Part(1), 0.1)


@pytest.mark.parametrize(
    "term",
    [
        TENTH_MORE,
        Operation("-", Part(0), TENTH_MORE),
        Operation("*", TENTH_MORE, 2.0),
        Operation("/", TENTH_MORE, 1.0),
    ],
)
@pytest.mark.parametrize("value", [2**51 + 1, -(2**52) + 5, 2**53 - 3])
def test_certain_bounds_hold_where_a_fraction_is_rounded_to_a_whole_number(term, value):
    """Doubles beyond 2^51 are a half apart or more."""
    ends = [np.array([float(each)]) for each in (value + 2, value)]
    low, high = between(term, ends, ends, held_below=2.0**53)
    truth = exactly(term, [Fraction(value + 2), Fraction(value)])
    assert Fraction(low[0]) <= truth <= Fraction(high[0])


def test_bounds_of_whole_numbers_that_doubles_hold_are_no_wider():
    term = Operation("*", Operation("-", Part(0), 1.0), 3.0)
    low, high = between(term, [np.array([-np.inf, 5.0])], [np.array([5.0, 5.0])], held_below=2.0**53)
    assert (low.tolist(), high.tolist()) == ([-np.inf, 12.0], [12.0, 12.0])


QUARTILES = Aggregate("percentile", ("y",), 0.75), Aggregate("percentile", ("y",), 0.25)
KEYS, FRACTION, REPETITIONS, LEAST = 6_000, 0.2, 1_000, 915


def quartile_rows(name, rng):
    """The key of each row, and its value."""
    rows = {
        "heavy": lambda: np.ones(KEYS, int),
        "held out": lambda: np.ceil(rng.lognormal(2.5, 0.5, KEYS)).astype(int),
    }
    key = np.repeat(np.arange(KEYS), rows[name]())
    if name == "heavy":
        return key, rng.lognormal(0, 1, KEYS)
    return key, rng.gamma(2, 1, KEYS)[key] * rng.weibull(8, len(key))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["heavy", "held out"])
def test_the_bounds_of_a_ratio_of_percentiles_hold(name):
    """1,000 repetitions; of bounds of 94 % fewer hold once in 2,000 times. Wider than needed: only too few may hold."""
    rng = np.random.default_rng(9)
    key, y = quartile_rows(name, rng)
    order = np.argsort(y)
    key, y = key[order], y[order]
    upper, lower = np.quantile(y, [0.75, 0.25], method="inverted_cdf")
    ratio = Combination(QUARTILES, Operation("/", Part(0), Part(1)))
    axes = axes_for([ratio])
    places = {part: [axes.moments.index(moment) for moment in part.moments] for part in QUARTILES}
    held = naive = 0
    for _ in range(20):
        state, grids = (
            State.empty(axes, [(i,) for i in range(REPETITIONS // 20)]),
            {part: [] for part in QUARTILES},
        )
        for repetition in range(REPETITIONS // 20):
            taken, bucket_of_key = rng.random(KEYS) < FRACTION, rng.integers(0, 128, KEYS)
            rows = np.flatnonzero(taken[key])
            values, bucket = y[rows], bucket_of_key[key[rows]]
            ends = []
            for part in QUARTILES:
                probabilities = np.array(grid_probabilities(part.p, np.count_nonzero(taken)))
                grid = grid_from(values[np.ceil(probabilities * len(values)).astype(int).clip(1) - 1])
                place = np.searchsorted(grid, values, side="left")
                counts = np.bincount(bucket * 42 + place, minlength=128 * 42).reshape(128, 42).cumsum(axis=1)
                state.sums[repetition][:, places[part]] = np.column_stack([counts[:, -1], counts[:, :-1]])
                grids[part].append(grid)
                off = 2.24 * np.sqrt(part.p * (1 - part.p) * len(values))
                ends.append(values[[int(part.p * len(values) - off), int(part.p * len(values) + off)]])
            naive += ends[0][0] / ends[1][1] <= upper / lower <= ends[0][1] / ends[1][0]
        found = estimate(state, ratio, FRACTION, grids={part: np.array(each) for part, each in grids.items()})
        held += np.count_nonzero((found.low <= upper / lower) & (upper / lower <= found.high))
    print(name, held, naive)
    assert held >= LEAST
    # Rows taken for keys give bounds that are far too narrow where keys have many rows.
    assert name == "heavy" or naive < 0.8 * REPETITIONS
