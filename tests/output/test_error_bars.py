"""Error bars of runs whose errors are known exactly, because no program has computed the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.immutable import replace
from multibody_cli.output.trajectory import ChannelRecord, Trajectory
from multibody_cli.studies.certify import CertificationPlan, certificate_of
from multibody_cli.studies.error_bars import PERTURBATION, SAFETY, RefinedRuns, Refinement, estimate

TIME = np.linspace(0.0, 10.0, 501)
EXACT = np.sin(TIME)
PATH, VELOCITY = "joints/hinge/q", "joints/hinge/v"


def run(values, path=PATH, message=""):
    """A run of one channel."""
    values = np.asarray(values, float)

    def load(name, rows):
        numbers = TIME[: len(values)] if name == "time" else values[:, None]
        same = "turn" if name == PATH else ""
        return ChannelRecord(name, numbers[rows], (("q",),), "rad", "", "", 1e-6, 1e-9, "coordinate", same)

    attributes = {"steps": 1000, "message": message}
    return Trajectory("the run", attributes, "", (), np.zeros((0, 3)), ("time", path), load)


def runs_of(errors, other_errors=None, growth=1.0, order=4.0):
    """Three levels with the given errors, those of another method, and a perturbed run."""
    levels = [run(EXACT + error) for error in errors]
    others = [run(EXACT + error) for error in (other_errors or errors)]
    perturbed = run(EXACT + errors[-1] + PERTURBATION * growth)
    return RefinedRuns(levels[0], levels, others, perturbed, Refinement(2.0, order))


def judge(runs):
    plan = CertificationPlan(
        (PATH,), ("simulation.step=0.1",) * 3, runs.refinement, False, ("aba", "redmax"), (), (), "reduce the step"
    )
    return certificate_of([estimate(PATH, runs)], runs, plan)


def convergent(order, size=1e-3):
    """Errors of three levels with a leading term and the next, which change their signs at different times."""
    return [
        size * (h**order * np.cos(3.0 * TIME) + 0.2 * h ** (order + 1) * np.sin(TIME + 1.0)) for h in (1, 0.5, 0.25)
    ]


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_error_is_within_its_bar_and_the_bar_is_sharp(order):
    errors = convergent(order)
    found = estimate(PATH, runs_of(errors, order=float(order)))
    bars, error = found.bars[:, 0], np.abs(errors[0])
    assert (error <= bars).all()
    assert np.median(bars / error) < 2.0
    assert found.order == pytest.approx(order, abs=0.3)


def test_a_ratio_above_the_order_of_the_integrator_is_not_believed():
    """Three levels whose finest two agree by chance: their difference is taken as that of the order."""
    shift = np.full(TIME.shape, 1e-3)
    runs = runs_of([shift, shift / 4.0, shift / 4.0 - 1e-9], order=2.0)
    found = estimate(PATH, runs)
    least = SAFETY * (0.75e-3 + 1e-9 / (2.0**2 - 1.0))
    np.testing.assert_allclose(found.bars[:, 0], least, rtol=1e-5)


def test_whole_turns_are_no_error():
    errors = convergent(2)
    turned = [errors[0] + math.tau, *errors[1:]]
    one, other = (estimate(PATH, runs_of(each, errors, order=2.0)).bars for each in (errors, turned))
    np.testing.assert_allclose(one, other, atol=1e-14)


def test_methods_that_converge_to_different_motions_disagree():
    errors = convergent(4, 1e-5)
    late = np.where(TIME >= 4.0, 1e-3, 0.0)
    runs = runs_of(errors, [error + late for error in errors])
    certificate = judge(runs)
    assert certificate.status == "methods disagree"
    assert "aba and redmax disagree from t = 4 s on, first in joints/hinge/q" in certificate.verdict
    assert certificate.until == pytest.approx(3.98)
    assert (certificate.bars[PATH].values[TIME >= 4.0] >= 0.99e-3).all()


def test_methods_of_different_accuracy_agree():
    """The other method has errors a thousand times as large, which its own levels explain."""
    runs = runs_of(convergent(2, 1e-6), convergent(2, 1e-3), order=2.0)
    assert judge(runs).status == "certified"


def test_shifts_of_an_impact_are_no_disagreement():
    """The levels of each method have one error of the time of a rebound, which their differences do not show."""

    def bounced(shift):
        return np.where(3.0 + shift > TIME, 3.0 - TIME, TIME - 3.0 - 2.0 * shift)

    for event_time, status in ((3e-3, "certified"), (0.0, "methods disagree")):
        early, late = ([bounced(shift) - EXACT] * 3 for shift in (-2e-3, 2e-3))
        runs = replace(runs_of(early, late, order=1.0), refinement=Refinement(2.0, 1.0, event_time))
        assert judge(runs).status == status


def test_digits_are_relative_to_the_size_of_the_channel():
    certificate = judge(runs_of(convergent(4, 2e-5)))
    assert (certificate.status, certificate.digits) == ("certified", 4)
    assert certificate.verdict.startswith("certified to 4 digits; the least certain channel is joints/hinge/q")


def test_errors_that_grow_as_a_perturbation_does_are_chaos():
    growth = np.exp(2.5 * TIME)
    errors = [1e-9 * 4.0**-level * growth for level in (0, 1, 2)]
    bounded = [np.clip(error, 0.0, 1.0) for error in errors]
    certificate = judge(runs_of(bounded, growth=np.minimum(growth, 1e9), order=2.0))
    assert certificate.status == "chaotic"
    scale = np.abs(EXACT + bounded[0]).max()
    assert certificate.until == pytest.approx(math.log(0.1 * scale / (SAFETY * 1e-9)) / 2.5, abs=0.05)
    assert certificate.digits == 1


def test_levels_that_do_not_approach_each_other_are_not_converged():
    waves = [0.3 * np.sin(TIME * k) for k in (5, 7, 11)]
    certificate = judge(runs_of(waves))
    assert certificate.status == "not converged"
    assert certificate.verdict.endswith("exceeds 10% of its size; reduce the step")


def test_nothing_is_known_after_the_end_of_a_finer_run():
    runs = runs_of(convergent(2, 1e-6))
    ended = run(EXACT[:200] + convergent(2, 1e-6)[1][:200], message="step 7 diverged")
    runs = RefinedRuns(runs.own, [runs.levels[0], ended, runs.levels[2]], runs.others, runs.perturbed, runs.refinement)
    certificate = judge(runs)
    bars = certificate.bars[PATH].values
    assert np.isfinite(bars[:200]).all()
    assert np.isinf(bars[200:]).all()
    assert certificate.status == "not converged"
    assert certificate.until == TIME[199]
    assert "step 7 diverged" in certificate.verdict


def test_at_impacts_only_positions_are_judged():
    """A velocity that changes its sign at slightly different times is wrong by its jump in between."""
    since = [TIME - 5.0 - h for h in (0.2, 0.1, 0.05)]
    positions = [run(np.abs(time)) for time in since]
    velocities = [run(np.sign(time), path=VELOCITY) for time in since]
    refinement = Refinement(2.0, 1.0)
    both = [RefinedRuns(levels[0], levels, (), levels[2], refinement) for levels in (positions, velocities)]
    bars = [estimate(path, runs) for path, runs in zip((PATH, VELOCITY), both, strict=True)]
    plan = CertificationPlan(
        (PATH, VELOCITY), ("simulation.step=0.1",) * 3, refinement, True, ("aba",), (), (), "reduce the step"
    )
    certificate = certificate_of(bars, both[0], plan)
    assert (certificate.status, certificate.digits) == ("certified", 1)
    assert certificate.verdict.endswith("; no other method supports the scene")
    assert certificate.bars[VELOCITY].values.max() >= 2.0
    assert certificate_of(bars, both[0], replace(plan, impacts=False)).status == "not converged"


GRAVITY = 9.81


def bounces(height, velocity, restitution, step=None):
    """Height and velocity of a ball on a floor: the closed form, or steps that apply impacts at their start."""
    if step is None:
        z, v, since, rows = height, velocity, 0.0, []
        for time in INSTANTS:
            while 1e-9 < (impact := (v + math.sqrt(v * v + 2.0 * GRAVITY * z)) / GRAVITY) < time - since:
                v, z, since = -restitution * (v - GRAVITY * impact), 0.0, since + impact
            if impact <= 1e-9:
                z, v, since = 0.0, 0.0, time
            rows.append((z + v * (time - since) - GRAVITY * (time - since) ** 2 / 2.0, v - GRAVITY * (time - since)))
        return np.array(rows)
    z, v, rows = height, velocity, [(height, velocity)]
    for _ in INSTANTS[1:]:
        for _ in range(round(INSTANTS[1] / step)):
            after = v - step * GRAVITY
            if z + step * after < 0.0:
                v = -restitution * after
                z += step * v
            else:
                z += step * (v + after) / 2.0
                v = after
        rows.append((z, v))
    return np.array(rows)


INSTANTS = np.linspace(0.0, 1.0, 501)


def recorded(motion, column):
    """A run with the height as an angle that passes a whole turn, or with the velocity."""
    path, same = ((PATH, "turn"), (VELOCITY, ""))[column]

    def load(name, rows):
        numbers = (
            INSTANTS
            if name == "time"
            else np.remainder(motion + 6.0, math.tau)[:, :1]
            if column == 0
            else motion[:, 1:]
        )
        return ChannelRecord(name, numbers[rows], (("q",),), "rad", "", "", 1e-6, 1e-9, "coordinate", same)

    return Trajectory("the run", {"steps": 1000, "message": ""}, "", (), np.zeros((0, 3)), ("time", path), load)


@given(st.floats(0.1, 1.5), st.floats(-2.0, 2.0), st.floats(0.5, 0.95))
def test_impacts_that_shift_in_time_stay_within_the_bars(height, velocity, restitution):
    exact = bounces(height, velocity, restitution)
    motions = [bounces(height, velocity, restitution, step) for step in (2e-3, 1e-3, 5e-4)]
    for column, continuous in ((0, True), (1, False)):
        levels = [recorded(motion, column) for motion in motions]
        runs = RefinedRuns(levels[0], levels, (), levels[2], Refinement(2.0, 1.0, 2e-3))
        found = estimate((PATH, VELOCITY)[column], runs, continuous)
        errors = np.abs(motions[0] - exact)[:, column]
        seen = slice(None if continuous else -25)  # no run shows an event that it has after the end
        assert (errors <= found.bars[:, 0] + 1e-9)[seen].all()
        assert not continuous or found.bars[:, 0].max() <= 0.1
