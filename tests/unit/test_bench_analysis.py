"""Analysis of measurements of `mbsim bench`: growth, Pareto fronts, recommendations, displacements, plans."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.immutable import replace
from multibody_cli.mass import MassProperties
from multibody_cli.studies.bench.accuracy import SampledMotion, displayed_error, front, largest_displacement, recommend
from multibody_cli.studies.bench.measurement import bytes_of, growth
from multibody_cli.studies.bench.options import BenchCase, BenchSpec, groups_of
from multibody_cli.studies.bench.timing import TimedBlock, count_long_enough, time_blocks


# --- fronts and recommendations -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Run:
    error: float | None
    seconds: float | None
    description: str = "a run"


PLANTED = [Run(1e-2, 1.0), Run(1e-4, 2.0), Run(1e-3, 3.0), Run(1e-6, 8.0), Run(1e-6, 9.0), Run(None, None)]


def test_the_front_is_pareto_optimal() -> None:
    assert front(PLANTED, 0.0) == [True, True, False, True, False, False]


def test_errors_below_that_of_the_reference_are_equal() -> None:
    runs = [Run(1e-12, 2.0), Run(2e-13, 3.0), Run(1e-9, 1.0)]
    assert front(runs, 0.0) == [True, True, True]
    assert front(runs, 1e-12) == [True, False, True]
    assert displayed_error(3e-12, 1e-12) == displayed_error(0.0, 1e-12) == 1e-11
    assert displayed_error(1.23456e-9, 1e-12) == 1.23e-9


def test_the_cheapest_that_reaches_the_accuracy_is_recommended() -> None:
    advice = recommend(PLANTED, 0.0, 1e-4)
    assert advice.index == 1
    assert advice.sentence == (
        "for 0.0001 m use a run: error 0.0001 m, 2 s per simulated second (0.5 x real time), the fastest of those that "
        "reach it, 3 of 6"
    )


def test_if_no_run_reaches_the_accuracy_the_nearest_is_recommended() -> None:
    advice = recommend(PLANTED, 0.0, 1e-8)
    assert advice.index is None
    assert advice.sentence == (
        "no run of 6 reaches 1e-08 m: the best, a run, has an error of 1e-06 m, and 1e-06 m with that of the "
        "reference, 100 times as large"
    )


def test_an_inaccurate_reference_recommends_nothing() -> None:
    assert recommend(PLANTED, 5.1e-6, 1e-4).index is None
    assert recommend(PLANTED, 5.1e-6, 1e-4).sentence == (
        "no recommendation for 0.0001 m, which needs a reference within 5e-06 m: the error of this one is 5.1e-06 m; "
        "request 0.00011 m or more, or shorten the run with --duration"
    )
    assert recommend(PLANTED, 5.1e-6, 1.1e-4).index is not None
    # the error of the reference is added
    assert recommend([Run(0.98e-4, 1.0), Run(1e-6, 2.0)], 4e-6, 1e-4).index == 1


def test_no_message_contradicts_its_numbers() -> None:
    """An error that only that of the reference lifts above the accuracy is said to exceed it by both."""
    sentence = recommend([Run(0.98e-4, 1.0)], 4e-6, 1e-4).sentence
    assert sentence == (
        "no run of 1 reaches 0.0001 m: the best, a run, has an error of 9.8e-05 m, and 0.000102 m with that of the "
        "reference, 1.02 times as large"
    )


def test_divergent_runs_are_never_recommended() -> None:
    advice = recommend([Run(None, None)], 0.0, 1.0)
    assert (advice.index, advice.sentence) == (None, "no recommendation for 1 m: every run diverged")


_ERRORS = st.floats(1e-12, 1.0)
_RUNS = st.lists(st.builds(Run, _ERRORS, st.floats(1e-6, 1e3)) | st.just(Run(None, None)), min_size=1, max_size=8)


@given(_RUNS, st.floats(0.0, 1e-3), _ERRORS)
def test_the_recommendation_is_the_cheapest_accurate_run_on_the_front(
    runs: list[Run], reference_error: float, wanted: float
) -> None:
    flags, advice = front(runs, reference_error), recommend(runs, reference_error, wanted)
    succeeded = [run for run in runs if run.error is not None and run.seconds is not None]
    if advice.index is None:
        fine = [run for run in succeeded if (run.error or 0.0) <= 0.99 * wanted]
        assert not fine or reference_error > 1e-3 * wanted
        return
    chosen = runs[advice.index]
    assert flags[advice.index]
    assert chosen.error is not None
    assert chosen.seconds is not None
    assert chosen.error + reference_error <= 1.01 * wanted
    for run in succeeded:
        cheaper = (run.seconds or 0.0) < chosen.seconds
        assert not cheaper or displayed_error(run.error or 0.0, reference_error) + reference_error > wanted


# --- displacements ------------------------------------------------------------------------------------------------
ROD = MassProperties(2.0, np.array([0.5, 0.0, 0.0]), np.diag([0.0, 2.0 / 12.0, 2.0 / 12.0]))
"""1 m along x from its origin."""


def motion(angle: float, shift: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> SampledMotion:
    """One body at one instant, turned about z."""
    turn = [np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]
    return SampledMotion(np.array([[shift]]), np.array([[turn]]))


def test_a_translation_displaces_all_points_equally() -> None:
    assert largest_displacement(motion(0.3, (0.0, 3.0, 4.0)), motion(0.3), [ROD]) == pytest.approx(5.0)


@pytest.mark.parametrize("angle", [1e-6, 0.1, np.pi])
def test_a_rotation_displaces_points_by_their_distance_from_the_axis(angle: float) -> None:
    """Mean square of 2 sin(angle/2) s over a rod of 1 m: (2 sin(angle/2))^2 / 3."""
    found = largest_displacement(motion(0.2 + angle), motion(0.2), [ROD])
    np.testing.assert_allclose(found, 2.0 * np.sin(angle / 2) / np.sqrt(3.0), rtol=1e-9)


def test_the_displacement_does_not_depend_on_the_body_frame() -> None:
    """The same rod with its frame at the other end; the origin that turns with it is where it was."""
    other = MassProperties(2.0, np.array([-0.5, 0.0, 0.0]), ROD.inertia)
    tip = (np.cos(0.4), np.sin(0.4), 0.0)
    moved = largest_displacement(motion(0.4, tip), motion(0.0, (1.0, 0.0, 0.0)), [other])
    np.testing.assert_allclose(moved, largest_displacement(motion(0.4), motion(0.0), [ROD]))


def test_the_displacement_does_not_depend_on_quaternion_signs_or_body_order() -> None:
    flipped = motion(0.7)._replace(quaternion=-motion(0.7).quaternion)
    assert largest_displacement(flipped, motion(0.7), [ROD]) == pytest.approx(0.0, abs=1e-15)


def test_a_body_without_mass_counts_by_its_origin() -> None:
    nothing = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    assert largest_displacement(motion(1.0, (0.0, 2.0, 0.0)), motion(0.0), [nothing]) == pytest.approx(2.0)


# --- plans --------------------------------------------------------------------------------------------------------
def spec(**words: object) -> BenchSpec:
    return BenchSpec.model_validate({"scenes": "a.yaml", **words})


def test_a_plan_combines_every_scene_with_every_argument() -> None:
    asked = spec(scenes=["a.yaml", "b.yaml"], method="aba,redmax", integrator="rk4", step="1 ms,2ms", size="vars.n=2,4")
    groups = list(groups_of(asked))
    assert [(group.scene, group.size) for group in groups] == list(
        itertools.product([Path("a.yaml"), Path("b.yaml")], [2.0, 4.0])
    )
    expected = [BenchCase(m, "rk4", h) for m in ("aba", "redmax") for h in (1e-3, 2e-3)]
    assert all(list(group.cases) == expected for group in groups)
    assert groups[0].overrides[-1] == "vars.n=2"
    assert expected[0].settings == (
        "simulation.method=aba",
        "simulation.integrator=rk4",
        "simulation.step=0.001",
    )


def test_an_integrator_runs_with_its_own_settings_only() -> None:
    [group] = groups_of(spec(integrator="rk4,dop853", step="1ms,2ms", tolerance="1e-6,1e-9"))
    settings_of_run = [(case.integrator, case.step, case.tolerance) for case in group.cases]
    assert settings_of_run == [
        ("rk4", 1e-3, None),
        ("rk4", 2e-3, None),
        ("dop853", None, 1e-6),
        ("dop853", None, 1e-9),
    ]


def test_the_duration_is_that_of_the_whole_group() -> None:
    [group] = groups_of(spec(duration="500 ms"))
    assert "simulation.duration=0.5" in group.overrides
    assert "simulation.duration=0.5" not in replace(group, duration=None).overrides


# --- measurements -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [-1.0, 0.0, 1.0, 2.5])
def test_growth_estimates_the_exponent(exponent: float) -> None:
    sizes = [2.0, 4.0, 10.0, 50.0]
    fit = growth(sizes, [3e-6 * size**exponent for size in sizes])
    assert fit is not None
    assert fit.standard_error is not None
    np.testing.assert_allclose(fit.exponent, exponent, atol=1e-12)
    np.testing.assert_allclose(fit.standard_error, 0.0, atol=1e-12)


def test_growth_of_scattered_costs_has_the_error_of_linear_regression() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.5, 1.5, 3.0])
    fit = growth(np.exp(x), np.exp(y))
    assert fit is not None
    # slope 0.9; residuals -0.15, 0.45, -0.45, 0.15; sqrt(0.45 / 2 / 5)
    np.testing.assert_allclose([fit.exponent, fit.standard_error], [0.9, np.sqrt(0.045)])


def test_growth_needs_two_sizes() -> None:
    assert growth([], []) is None
    assert growth([3.0, 3.0], [1.0, 2.0]) is None
    two = growth([1.0, 2.0], [1.0, 2.0])
    assert two is not None
    assert two.standard_error is None


def test_blocks_last_long_enough_and_the_median_is_of_costs() -> None:
    def block(count: int) -> TimedBlock:
        return TimedBlock(seconds=1e-6 * count, done=count)

    count = count_long_enough(block)
    assert 0.02 <= 1e-6 * count <= 0.1
    timing = time_blocks(block, count, 5)
    np.testing.assert_allclose([timing.median, timing.fastest, timing.slowest], 1e-6)


def test_blocks_stay_short_of_a_divergence() -> None:
    count = count_long_enough(lambda count: TimedBlock(1e-9 * count, count, succeeded=count < 1000))
    assert 1 <= count < 1000


def test_bytes_of_nested_arrays() -> None:
    assert bytes_of((np.zeros(3), (np.zeros((2, 2)), 5), ())) == 56
