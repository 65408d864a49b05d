"""Thinning: a long run is drawn by few instants that include all extremes."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_runs import positions, record, run_of

from multibody_cli.output.selection import select
from multibody_cli.pictures import thinning
from multibody_cli.pictures.thinning import BINS, extremes, read_curves, source_of

MOST = 4 * BINS


def whole(run):
    return source_of(run, np.arange(len(run.time)))


def curve_of(values, time=None):
    time = np.arange(len(values)) * 1e-3 if time is None else time
    run = run_of(record("solver/residual", values, "m"), time=time)
    [curve] = read_curves(whole(run), select(run, ["solver/residual"]))
    return curve


@pytest.mark.parametrize("count", [1, 2, MOST])
def test_a_short_run_is_drawn_as_it_is(count):
    values = np.random.default_rng(0).standard_normal(count)
    curve = curve_of(values)
    np.testing.assert_array_equal(curve.values, values)
    np.testing.assert_array_equal(curve.time, np.arange(count) * 1e-3)


@pytest.mark.parametrize("count", [MOST + 1, 7 * MOST - 1, 123_457])
def test_a_spike_of_one_instant_survives_wherever_it_is(count):
    generator = np.random.default_rng(count)
    for row in [0, 1, count // 2, count - 2, count - 1, *generator.integers(0, count, 20)]:
        for spike in (5.0, -5.0):
            values = np.sin(np.arange(count) * 1e-3)
            values[row] = spike
            curve = curve_of(values)
            assert len(curve.values) <= MOST
            assert curve.time[curve.values == spike].tolist() == [row * 1e-3] * np.count_nonzero(curve.values == spike)
            assert spike in curve.values
            assert (curve.time[0], curve.time[-1]) == (0.0, (count - 1) * 1e-3)
            assert np.all(np.diff(curve.time) >= 0.0)


def test_each_interval_keeps_its_extremes_and_ends():
    values = np.random.default_rng(1).standard_normal((1003, 3))
    rows = extremes(values, 10)
    for column in range(3):
        for start in range(0, 1003, 10):
            stretch = values[start : start + 10, column]
            kept = values[rows[(rows[:, column] >= start) & (rows[:, column] < start + 10), column], column]
            assert {stretch.min(), stretch.max(), stretch[0], stretch[-1]} == set(kept)


def test_nonfinite_values_hide_no_extreme_and_are_counted():
    values = np.zeros(50_000)
    values[20_000:20_010] = [np.nan, 7.0, np.inf, -np.inf, np.nan, -7.0, 1e200, 0.0, np.nan, 0.0]
    curve = curve_of(values)
    assert curve.gaps == 6
    assert (np.nanmin(curve.values), np.nanmax(curve.values)) == (-7.0, 7.0)


def test_a_channel_of_nan_is_drawn():
    curve = curve_of(np.full(30_000, np.nan))
    assert curve.gaps == 30_000
    assert np.isnan(curve.values).all()


def test_a_long_run_is_read_in_parts_with_the_same_result(monkeypatch):
    time = np.arange(20_001) * 1e-3
    run = run_of(positions(time), time=time)
    scalars = select(run, ["bodies/hand/position[y]", "bodies/arm/position"])
    at_once = read_curves(whole(run), scalars)
    monkeypatch.setattr(thinning, "PART", 5_000)
    run.read.clear()
    parts = read_curves(whole(run), scalars)
    sizes = [len(range(*rows.indices(len(time)))) for path, rows in run.read if path == "bodies/position"]
    assert max(sizes) * 6 <= 5_000
    assert sum(sizes) >= 2 * len(time)
    for one, other in zip(at_once, parts, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.time, other.time)
    assert at_once[0].values[0] == 10.0
    assert [curve.scalar for curve in at_once] == scalars


def test_a_curve_over_another_scalar_has_every_instant_of_a_short_run():
    time = np.linspace(0.0, 9.0, 20_001)
    run = run_of(record("joints/a/q", np.cos(time), "rad"), record("joints/a/v", np.sin(time), "rad/s"), time=time)
    [x] = select(run, ["joints/a/q"])
    [curve] = read_curves(whole(run), select(run, ["joints/a/v"]), x)
    np.testing.assert_array_equal(curve.x, np.cos(time))
    np.testing.assert_array_equal(curve.values, np.sin(time))


def test_a_long_curve_over_another_scalar_has_every_nth_instant(monkeypatch):
    monkeypatch.setattr(thinning, "MOST", 1000)
    monkeypatch.setattr(thinning, "PART", 90)
    time = np.linspace(0.0, 9.0, 2_501)
    run = run_of(record("joints/a/q", np.cos(time), "rad"), record("joints/a/v", np.sin(time), "rad/s"), time=time)
    [x] = select(run, ["joints/a/q"])
    [curve] = read_curves(whole(run), select(run, ["joints/a/v"]), x)
    np.testing.assert_array_equal(curve.x, np.cos(time[::3]))
    np.testing.assert_array_equal(curve.values, np.sin(time[::3]))
