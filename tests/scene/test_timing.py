"""Steps and output instants are whole numbers of steps apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.errors import QuantityError, SceneError
from multibody_cli.scene.load import load_scene
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec
from multibody_cli.scene.timing import timing


def plan(duration, step, every=None):
    return timing(SimulationSpec(duration=duration, step=step), OutputSpec(every=every))


@pytest.mark.parametrize(
    ("duration", "step", "steps_per_output", "outputs"),
    [
        (10, 1e-3, 10, 1000),
        (0.5, 1e-3, 1, 500),
        (12.345, 1e-3, 15, 823),
        (2, 1e-3, 2, 1000),
        (0.3, 0.1, 1, 3),
    ],
)
def test_default(duration, step, steps_per_output, outputs):
    found = plan(duration, step)
    assert (found.steps_per_output, found.outputs) == (steps_per_output, outputs)


def test_default_of_a_prime_number_of_steps_is_every_step():
    assert plan(10007, 1).outputs == 10007


@given(steps=st.integers(1, 10**6), step=st.sampled_from([1e-4, 1e-3, 0.02, 1 / 3]))
def test_default_ends_with_the_run(steps, step):
    found = plan(steps * step, step)
    assert found.steps == steps
    assert found.outputs >= min(steps, 100)


def test_given():
    found = plan(10, "1 ms", "10 ms")
    assert (found.steps_per_output, found.outputs, found.steps) == (10, 1000, 10000)
    assert found.index_of(2.5) == 250
    assert found.every == pytest.approx(0.01)


@pytest.mark.parametrize("time", [-0.01, 10.01, 2.505])
def test_instants_between_output_instants(time):
    with pytest.raises(QuantityError, match="the nearest to"):
        plan(10, 1e-3, 1e-2).index_of(time)


@pytest.mark.parametrize(
    ("duration", "step", "every", "message"),
    [
        (1, 3e-3, None, "nearest: 0.999 s or 1.002 s"),
        (1, 1e-3, 2.5e-3, "nearest: 0.002 s or 0.003 s"),
        (1, 1e-3, 0.3, "a divisor of the duration, 1 s, found 0.3 s; nearest: 0.25 s or 0.5 s"),
        (1, 1e-3, 3, "nearest: 1 s"),
        (1, 2, None, "nearest: 2 s"),
        (1e300, 1e-300, None, "of .* to `step` is too large"),
    ],
)
def test_refusals(duration, step, every, message):
    with pytest.raises(QuantityError, match=message):
        plan(duration, step, every)


@pytest.fixture
def scene_with_expectations(tmp_path):
    """A scene of 2 s with expectations at instants, at its end and without instants."""
    scene = {
        "mbsim": 1,
        "bodies": {"ball": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "simulation": {"duration": 2, "step": 0.1},
        "expect": [
            {"energy_drift": {"max": 1}},
            {"at": 0.5, "channel": "energy/kinetic", "value": 1, "rtol": 1},
            {"at": 1.5, "channel": "energy/kinetic", "value": 1, "rtol": 1},
            {"at": "final", "channel": "energy/kinetic", "value": 1, "rtol": 1},
            {"channel": "energy/kinetic", "period": 0.7},
            {"channel": "energy/kinetic", "max": 100},
        ],
    }
    path = tmp_path / "scene.yaml"
    path.write_text(json.dumps(scene), encoding="utf-8")
    assert len(load_scene(path).scene.expect) == 6
    return path


def test_a_shorter_duration_sets_later_expectations_aside(scene_with_expectations):
    shorter = load_scene(scene_with_expectations, ["simulation.duration=1"])
    assert [type(entry).__name__ for entry in shorter.scene.expect] == [
        "EnergyDrift",
        "ValueExpectation",
        "ExtremeExpectation",
    ]
    assert shorter.warnings[0].endswith(
        "3 of 6 expectations refer to later times or to the written end, and are set aside"
    )
    assert shorter.where("expect", 2) == load_scene(scene_with_expectations).where("expect", 5)


def test_a_scene_with_expectations_set_aside_can_be_loaded_again(scene_with_expectations, tmp_path):
    shorter = load_scene(scene_with_expectations, ["simulation.duration=1"])
    stored = tmp_path / "stored.yaml"
    stored.write_text(shorter.text, encoding="utf-8")
    assert load_scene(stored).scene == shorter.scene


@pytest.mark.parametrize("duration", ["2", "2000 ms"])
def test_the_written_duration_sets_nothing_aside(scene_with_expectations, duration):
    loaded = load_scene(scene_with_expectations, [f"simulation.duration={duration}"])
    assert len(loaded.scene.expect) == 6
    assert not loaded.warnings


def test_a_longer_duration_sets_only_the_written_end_aside(scene_with_expectations):
    loaded = load_scene(scene_with_expectations, ["simulation.duration=3"])
    assert [getattr(entry, "at", None) for entry in loaded.scene.expect] == [None, 0.5, 1.5, None, None]


def test_an_instant_after_the_written_duration_remains_an_error(scene_with_expectations):
    overrides = ["expect[2].at=5", "simulation.duration=3"]
    with pytest.raises(SceneError, match="expected an output instant"):
        load_scene(scene_with_expectations, overrides)
