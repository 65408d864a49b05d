"""Gears with backlash: flanks that catch the follower without rebound, against closed forms."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from loops import loaded, start

import mbsim
from multibody_cli.errors import SceneError

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
PINION, WHEEL, RATIO, PLAY = 0.3, 0.2, -2.0, 0.1
"""Moments of inertia, kg m^2; wheel over pinion; rad."""
TOGETHER = PINION + RATIO**2 * WHEEL
"""Moment of inertia that the pinion has with the wheel."""

every_method = pytest.mark.parametrize("method", METHODS)


def gears(pinion: dict[str, Any], wheel: dict[str, Any] | None = None, **teeth: Any) -> dict[str, Any]:
    """Two wheels side by side without gravity; the fields of their hinges, and of the gear."""
    hinge = {"type": "revolute", "axis": [0, 0, 1]}
    return {
        "gravity": [0, 0, 0],
        "bodies": {
            "a": {"mass": 1.0, "inertia": {"principal": [1, 1, PINION]}},
            "b": {"mass": 1.0, "inertia": {"principal": [1, 1, WHEEL]}},
        },
        "joints": {
            "pinion": {**hinge, "child": "a", **pinion},
            "wheel": {**hinge, "child": "b", "origin": {"position": [1, 0, 0]}, **(wheel or {})},
        },
        "couplings": {
            "teeth": {"type": "gear", "joints": ["pinion", "wheel"], "ratio": RATIO, "backlash": PLAY, **teeth}
        },
    }


def rates(run: Any) -> list[float]:
    return [run.joint(name, "velocity")[0] for name in ("pinion", "wheel")]


@every_method
@pytest.mark.parametrize("sense", [1, -1])
def test_a_pinion_crosses_the_play_before_it_catches_the_wheel(method: str, sense: int) -> None:
    """The play of the pinion is b / |ratio|, half of it to either side; the flanks meet at t = b / (2 |ratio| v)."""
    run = start(gears({"v": float(sense)}), method, step=4e-3)
    run.advance(0.024)
    np.testing.assert_allclose(rates(run), [sense, 0.0], atol=1e-12)
    assert (run.multipliers("teeth") == 0.0).all()
    run.advance(0.028)
    after = sense * PINION / TOGETHER
    np.testing.assert_allclose(rates(run), [after, RATIO * after], atol=1e-10)
    lost = 0.5 * PINION - 0.5 * TOGETHER * after**2
    np.testing.assert_allclose(run.energy(), [0.5 * PINION - lost, 0.5 * PINION], rtol=1e-10)
    turned = run.joint("wheel", "coordinates")[0] - RATIO * run.joint("pinion", "coordinates")[0]
    assert turned == pytest.approx(sense * PLAY / 2, abs=1e-10)


@every_method
def test_the_loaded_flank_carries_the_wheel_and_changes_with_the_torque(method: str) -> None:
    torque = {"times": [0, 0.02, 0.021, 1], "values": [2, 2, -8, -8], "interpolation": "linear"}
    run = start(gears({"force": torque, "q": PLAY / 4}), method, step=5e-3)
    for until, moment, flank in ((0.02, 2.0, 1), (0.12, -8.0, 0)):
        run.advance(until)
        a = moment / TOGETHER
        np.testing.assert_allclose(run.joint("pinion", "acceleration")[0], a, rtol=1e-8)
        np.testing.assert_allclose(run.joint("wheel", "acceleration")[0], RATIO * a, rtol=1e-8)
        carried = run.multipliers("teeth")
        assert carried[flank] == pytest.approx(abs(RATIO * WHEEL * a), rel=1e-8)
        assert carried[1 - flank] == 0.0


@every_method
def test_a_driven_pinion_takes_the_wheel_along(method: str) -> None:
    run = start(gears({"motion": {"velocity": 1.0}}), method, step=5e-3)
    run.advance(0.05)
    np.testing.assert_allclose(rates(run), [1.0, RATIO], atol=1e-10)
    turned = run.joint("wheel", "coordinates")[0]
    assert turned == pytest.approx(RATIO * 0.05 + PLAY / 2, abs=1e-10)


@every_method
def test_a_wheel_rests_within_the_play(method: str) -> None:
    """Errors are the distances to the flanks, so that an open one is no open constraint."""
    scene = gears({"q": 0.3}, {"q": 0.11}, offset=0.7, backlash=0.1)
    scene |= {"mbsim": 1, "simulation": {"duration": 0.01, "step": 1e-3, "method": method}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no alarms
        result = mbsim.load(json.dumps(scene, indent=1)).run()
    np.testing.assert_allclose(result["joints/wheel/q"].values, 0.11, rtol=1e-14)
    np.testing.assert_array_equal(result["couplings/teeth/multiplier"].values, 0.0)
    np.testing.assert_allclose(result["couplings/teeth/error"].values[-1], [0.06, 0.04], atol=1e-14)


@every_method
def test_a_flank_presses_a_lever_onto_the_ground(method: str) -> None:
    """The flank takes the torque of the pinion to the wheel: a force of 4 N m / |ratio| there, and a contact force."""
    scene = gears({"force": 4.0, "q": PLAY / 4})
    scene["bodies"]["b"]["shapes"] = [{"type": "sphere", "radius": 0.1, "position": [1, 0, 0]}]
    scene["world"] = {"shapes": [{"type": "plane", "normal": [0, 1, 0], "position": [0, -0.1, 0]}]}
    run = start(scene | {"contacts": {"friction": 0.3}}, method, "semi_implicit_euler", step=1e-3)
    run.advance(0.005)
    np.testing.assert_allclose(rates(run), 0.0, atol=1e-12)
    np.testing.assert_allclose(run.multipliers("teeth"), [0.0, 4.0 / abs(RATIO)], atol=1e-8)


def test_a_start_outside_the_play_is_moved_to_the_flank_or_refused() -> None:
    run = start(gears({"q": PLAY / 4 + 0.002}))
    assert run.state.q.tolist() == pytest.approx([PLAY / 4 + 0.002, -0.004], abs=1e-12)
    with pytest.raises(SceneError, match="assembly_tolerance"):
        start(gears({"q": PLAY}, {"q": 0.0}))


@pytest.mark.parametrize(("given", "other"), [({"pinion": 0.7}, -0.95), ({"wheel": 0.7}, -0.125), ({}, 0.0)])
def test_a_follower_without_q_starts_at_the_nearest_flank(given: dict[str, float], other: float) -> None:
    """However far it would be from its play: wheel = -2 pinion + 0.4, to within 0.05, from 0."""
    angles = {name: {"q": q} for name, q in given.items()}
    run = start(gears(angles.get("pinion", {}), angles.get("wheel"), offset=0.4))
    q = {name: run.joint(name, "coordinates")[0] for name in ("pinion", "wheel")}
    expected = {"pinion": other, "wheel": other} | given if given else {"pinion": 0.0, "wheel": 0.35}
    assert q == pytest.approx(expected, abs=1e-14)
    assert not run.compiled.warnings
    run.advance(0.05)
    assert run.state.q.tolist() == pytest.approx([*expected.values()], abs=1e-12)


def test_followers_of_a_train_start_at_flanks() -> None:
    """The last wheel, which alone would stay at 0, follows the one that enters its play."""
    scene = gears({"q": 1.0})
    scene["bodies"]["c"] = scene["bodies"]["b"]
    scene["joints"]["last"] = {"type": "revolute", "axis": [0, 0, 1], "child": "c"}
    later = {"type": "gear", "joints": ["wheel", "last"], "ratio": 3.0, "backlash": PLAY}
    scene["couplings"] = {"later": later, **scene["couplings"]}
    run = start(scene)
    assert run.state.q.tolist() == pytest.approx([1.0, -1.95, -5.8], abs=1e-14)
    assert not run.compiled.warnings


def test_without_backlash_it_is_the_gear() -> None:
    scenes = gears({"force": 2.0}, backlash=0.0), gears({"force": 2.0})
    del scenes[1]["couplings"]["teeth"]["backlash"]
    runs = [start(scene, step=1e-3).advance(0.01) for scene in scenes]
    assert runs[0].state.v.tobytes() == runs[1].state.v.tobytes()
    np.testing.assert_array_equal(runs[0].multipliers("teeth"), runs[1].multipliers("teeth"))
    np.testing.assert_allclose(rates(runs[0]), 2.0 * 0.01 / TOGETHER * np.array([1.0, RATIO]), rtol=1e-10)


def test_refusals() -> None:
    for settings, teeth, message in (
        ({"integrator": "dop853"}, {}, "impacts on limits"),
        ({"options": {"stabilization": "baumgarte"}}, {}, "projection"),
        ({"method": "variational", "options": {"order": 4}}, {}, "cross limits"),
        ({}, {"backlash": "1 mm"}, "angle"),
    ):
        with pytest.raises(SceneError, match=message):
            loaded(gears({}, **teeth), **settings)
