"""Expectations: values are computed correctly, and a wrong value fails."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import ANGLE, RICH, names_of, part_of, record, samples_of

from multibody_cli.model import Account
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.scene.expect import EXPECTATIONS
from multibody_cli.studies.expect import evaluate, find_unreadable, period_of

TIME = np.arange(0.0, 10.005, 0.01)
NAMES = names_of(joints=[("hinge", (ANGLE,)), ("ball", (ANGLE,) * 3)], accounts=[Account("work", "forces/wind")])


def run_of(samples, status="complete", names=NAMES, channels=None):
    sink = MemorySink(channels)
    record(sink, names, samples, Outcome(status))
    return sink.trajectory()


def oscillation():
    """The hinge swings with a period of 1.7 s about 0.3 rad; all other extremes are known."""
    samples = samples_of(NAMES, TIME)
    swing = 0.3 + np.sin(2 * np.pi * TIME / 1.7 + 1.0) + 0.1 * np.sin(4 * np.pi * TIME / 1.7)
    samples.coordinates[:, 0] = swing
    samples.kinetic[:] = 2.0 + 1e-3 * (TIME == 4.0)
    samples.potential[:] = samples.elastic[:] = 0.0
    samples.accounts[:] = 0.0
    samples.linear_momentum[:] = [1.0, 2.0, 3.0]
    samples.angular_momentum[:] = [4.0, 5.0, 6.0]
    samples.linear_momentum[7] += [0.0, 3e-3, 4e-3]
    samples.angular_momentum[9] += [0.0, 0.0, -2e-3]
    samples.constraint_error[:] = 0.0
    samples.constraint_error[3, 1] = 5e-4
    return samples


RUN = run_of(oscillation())


def entry(kind, **words):
    return EXPECTATIONS[kind](**words)


def judge(kind, run=RUN, **words):
    (verdict,) = evaluate([entry(kind, **words)], run)
    return verdict


@pytest.mark.parametrize(
    ("kind", "words", "found"),
    [
        ("energy_drift", {}, 1e-3),
        ("momentum_drift", {}, 5e-3),
        ("momentum_drift", {"axis": "z"}, 2e-3),
        ("momentum_drift", {"axis": "y"}, 0.0),
        ("constraint_error", {}, 5e-4),
    ],
)
def test_drifts_are_the_largest_of_the_run(kind, words, found):
    verdict = judge(kind, **{kind: {"max": found * 1.001, **words}})
    assert verdict.passed
    assert verdict.found == pytest.approx(found, abs=1e-12)
    if found:
        assert not judge(kind, **{kind: {"max": found * 0.999, **words}}).passed


def test_value_at_an_instant():
    samples = oscillation()
    words = {"channel": "bodies/hand/position", "at": 2.0, "atol": 1e-9}
    exact = samples.position[200, 1].tolist()
    assert judge("value", value=exact, **words).passed
    assert not judge("value", value=[*exact[:2], exact[2] + 2e-9], **words).passed
    component = judge("value", value=exact[1], component="y", **words)
    assert component.passed
    assert component.entry == "bodies/hand/position[y] at 2.0 s"
    assert judge("value", value=exact[2], component=2, **words).passed


def test_final_is_the_last_instant():
    value = float(oscillation().coordinates[-1, 0])
    assert judge("value", channel="joints/hinge/q", at="final", value=value, rtol=1e-12).passed


def test_relative_tolerance_refers_to_the_largest_value():
    words = {"channel": "momentum/linear", "at": 0.0, "rtol": 1e-3}
    assert judge("value", value=[1.0029, 2.0, 3.0], **words).passed
    assert not judge("value", value=[1.0031, 2.0, 3.0], **words).passed


def test_a_quaternion_may_have_either_sign():
    values = RUN.channel("bodies/arm/quaternion").values[5]
    words = {"channel": "bodies/arm/quaternion", "at": float(TIME[5]), "atol": 1e-12}
    assert judge("value", value=(-values).tolist(), **words).passed
    assert not judge("value", value=[*(-values[:3]).tolist(), float(values[3])], **words).passed


def test_extremes_over_the_run():
    swing = oscillation().coordinates[:, 0]
    for word, value, beyond in (("max", swing.max(), -1e-9), ("min", swing.min(), 1e-9)):
        assert judge("extreme", channel="joints/hinge/q", **{word: float(value)}).passed
        missed = judge("extreme", channel="joints/hinge/q", **{word: float(value) + beyond})
        assert not missed.passed
        assert missed.found == value
    both = evaluate([entry("extreme", channel="joints/hinge/q", max=9.0, min=-9.0)], RUN)
    assert [verdict.passed for verdict in both] == [True, True]


def test_period_of_a_channel():
    verdict = judge("period", channel="joints/hinge/q", period=1.7, rtol=1e-8)
    assert verdict.passed, str(verdict)
    assert verdict.units == "s"
    assert not judge("period", channel="joints/hinge/q", period=1.7001, rtol=1e-6).passed


@pytest.mark.parametrize("samples", [20, 33, 100, 1000])
@pytest.mark.parametrize("phase", [0.0, 0.3, 2.0])
def test_period_is_sharper_than_the_sampling(samples, phase):
    time = np.linspace(0.0, 5.3, round(5.3 * samples))
    assert period_of(time, 7.0 + np.sin(2 * np.pi * time + phase)) == pytest.approx(1.0, rel=1e-8)


def test_a_channel_without_oscillation_has_no_period():
    assert period_of(TIME, TIME) is None
    assert period_of(TIME, np.full_like(TIME, np.nan)) is None
    assert period_of(TIME[:5], np.sin(TIME[:5])) is None
    missed = judge("period", channel="time", period=1.0)
    assert not missed.passed
    assert "fewer than two oscillations" in str(missed)


def test_nan_fails_every_expectation():
    samples = oscillation()
    samples.kinetic[500:] = np.nan
    samples.coordinates[500:] = np.nan
    run = run_of(samples)
    assert not judge("energy_drift", run, energy_drift={"max": 1e9}).passed
    assert not judge("extreme", run, channel="joints/hinge/q", max=1e9).passed
    assert not judge("extreme", run, channel="joints/hinge/q", min=-1e9).passed
    assert not judge("value", run, channel="joints/hinge/q", at="final", value=0, atol=1e9).passed


def test_a_run_that_ended_early_fails_later_expectations():
    run = run_of(part_of(oscillation(), 0, 300), status="diverged")
    late = judge("value", run, channel="joints/hinge/q", at=5.0, value=0, atol=9)
    final = judge("value", run, channel="joints/hinge/q", at="final", value=0, atol=9)
    assert (late.passed, final.passed) == (False, False)
    assert "no output instant at 5 s" in late.note
    assert "ended early, at 2.99 s" in final.note


def test_a_run_without_instants_fails_every_expectation():
    run = run_of(part_of(oscillation(), 0, 0), status="diverged")
    entries = [
        entry("energy_drift", energy_drift={"max": 1}),
        entry("momentum_drift", momentum_drift={"max": 1}),
        entry("constraint_error", constraint_error={"max": 1}),
        entry("value", at="final", channel="joints/hinge/q", value=0, atol=9),
        entry("value", at=0, channel="joints/hinge/q", value=0, atol=9),
        entry("extreme", channel="joints/hinge/q", max=9, min=-9),
        entry("period", channel="joints/hinge/q", period=1),
    ]
    verdicts = evaluate(entries, run)
    assert len(verdicts) == 8
    assert not any(verdict.passed for verdict in verdicts)


def test_verdicts_show_actual_and_expected_values(tmp_path):
    record(Hdf5Sink(tmp_path / "run.h5"), NAMES, oscillation(), Outcome("complete"))
    verdict = judge("energy_drift", read_trajectory(tmp_path / "run.h5"), energy_drift={"max": 1e-6})
    assert str(verdict).startswith("FAIL  energy_drift: found 0.00")
    assert "wanted at most 1e-06 J (reached at 4 s)" in str(verdict)


UNREADABLE = [
    ("value", {"channel": "joints/hing/q", "at": 0, "value": 0, "atol": 1}, "did you mean `joints/hinge/q`"),
    ("value", {"channel": "joints/ball/q", "at": 0, "value": 0, "atol": 1}, "has 3 components, not 1"),
    ("value", {"channel": "joints/hinge/q", "at": 0, "value": [0, 1], "atol": 1}, "has 1 components, not 2"),
    (
        "value",
        {"channel": "joints/hinge/q", "at": 0.015, "value": 0, "atol": 1},
        "no output instant at 0.015 s",
    ),
    ("value", {"channel": "joints/hinge/q", "at": 11, "value": 0, "atol": 1}, "the last 10 s"),
    ("value", {"channel": "joints/ball/q", "component": 3, "at": 0, "value": 0, "atol": 1}, "no component 3"),
    ("extreme", {"channel": "joints/ball/q", "component": "w", "max": 0}, "no component w"),
    ("extreme", {"channel": "joints/ball/q", "max": 0}, "select one with `component`"),
    ("period", {"channel": "bodies/position", "period": 1}, "contains all bodies"),
    ("period", {"channel": "bodies/nobody/com", "period": 1}, "no channel"),
]


@pytest.mark.parametrize(("kind", "words", "message"), UNREADABLE)
def test_unsatisfiable_expectations_are_refused_before_the_run(kind, words, message):
    good = entry("period", channel="bodies/arm/com", component="z", period=1)
    ((number, problem),) = find_unreadable([good, entry(kind, **words)], NAMES, None, 0.01, 10.0)
    assert number == 1
    assert message in problem


def test_expectations_of_unselected_channels_are_refused_before_the_run():
    entries = [
        entry("energy_drift", energy_drift={"max": 1}),
        entry("constraint_error", constraint_error={"max": 1}),
        entry("extreme", channel="bodies/arm/com", component="x", max=1),
    ]
    assert find_unreadable(entries, NAMES, None, 0.01, 10.0) == []
    found = find_unreadable(entries, NAMES, ["momentum", "bodies/position"], 0.01, 10.0)
    assert [number for number, _ in found] == [0, 1, 2]
    assert "reads `energy/ledger_residual`, but `output.channels` excludes it: add it there" in found[0][1]
    assert "reads `bodies/quaternion`, but" in found[2][1]


def test_satisfiable_expectations_are_accepted():
    entries = [
        entry("momentum_drift", momentum_drift={"max": 1, "axis": "x"}),
        entry("value", channel="joints/bolt10/q", component=1, at="final", value=0, atol=1),
        entry("value", channel="time", at=10.0, value=10, atol=1e-9),
    ]
    assert find_unreadable(entries, RICH, None, 0.1, 10.0) == []
