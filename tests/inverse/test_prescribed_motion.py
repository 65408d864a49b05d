"""Given velocities and accelerations of joints are integrated where no run does so, at any instants."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_fits import table
from test_kinematic_analysis import closed, four_bar

import mbsim
from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError
from multibody_cli.model import State
from multibody_cli.studies import prescribed_motion
from multibody_cli.studies.inverse.consistency import ConsistentMotion
from multibody_cli.studies.inverse.study import OVERRIDES
from multibody_cli.studies.prescribed_motion import PrescribedMotion
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

HERE = Path("scene.yaml")

Q, V = 0.1, 0.3

SLIDER = f"""mbsim: 1
bodies:
  a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}, points: {{mark: [0, 0, 0.2]}}}}
joints:
  x: {{type: prismatic, axis: [1, 0, 0], child: a, q: {Q}, RATE motion: MOTION}}
simulation: {{duration: 1, step: 1 ms}}
output: {{every: 10 ms}}
"""

TABLE = "{times: [0.1, 0.4, 0.9], values: [1, -2, 3]}"
"""Linear pieces, constant before the first and after the last instant."""


def of_table(t: float) -> tuple[float, float, float]:
    """Return the table, its integral and the integral of that, from 0 to t."""
    value, first, second = 1.0, 0.0, 0.0
    for begin, end, low, high in ((0, 0.1, 1, 1), (0.1, 0.4, 1, -2), (0.4, 0.9, -2, 3), (0.9, 9, 3, 3)):
        if t > begin:
            s, slope = min(t, end) - begin, (high - low) / (end - begin)
            value = low + slope * s
            second += first * s + low * s**2 / 2.0 + slope * s**3 / 6.0
            first += low * s + slope * s**2 / 2.0
    return value, first, second


def of_floor(t: float) -> tuple[float, float, float]:
    """Return floor(5 t), its integral and the integral of that, from 0 to t."""
    knots = 0.2 * np.arange(1, 1 + math.floor(5.0 * t + 1e-9))
    return float(len(knots)), float((t - knots).sum()), float(((t - knots) ** 2).sum() / 2.0)


FUNCTIONS: dict[str, Callable[[float], tuple[float, float, float]]] = {
    '"2*cos(3*t)"': lambda t: (2 * math.cos(3 * t), 2 / 3 * math.sin(3 * t), 2 / 9 * (1 - math.cos(3 * t))),
    '"2*sin(3*t)"': lambda t: (
        2 * math.sin(3 * t),
        2 / 3 * (1 - math.cos(3 * t)),
        2 / 3 * t - 2 / 9 * math.sin(3 * t),
    ),
    '"abs(t - 0.4137)"': lambda t: (
        abs(t - 0.4137),
        (abs(t - 0.4137) * (t - 0.4137) + 0.4137**2) / 2,
        (abs(t - 0.4137) ** 3 - 0.4137**3) / 6 + 0.4137**2 * t / 2,
    ),
    '"floor(5*t)"': of_floor,
    TABLE: of_table,
}


def slider(motion: str, rate: str = "") -> SceneText:
    return SceneText(SLIDER.replace("MOTION", motion).replace("RATE", rate), HERE)


def written(text: str, folder: Path) -> Path:
    path = folder / HERE
    path.write_text(text)
    return path


def exact(given: str, function: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and the rates at several times."""
    values, first, second = np.array([FUNCTIONS[function](t) for t in times.tolist()]).T
    return (Q + first, values) if given == "velocity" else (Q + V * times + second, V + first)


def scene(given: str, function: str) -> SceneText:
    return slider(f"{{{given}: {function}}}", f"v: {V}," if given == "acceleration" else "")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("given", ["velocity", "acceleration"])
@pytest.mark.parametrize(("every", "start"), [(0.001, 0.0), (0.01, 0.0), (0.1, 0.0), (0.05, 0.45)])
def test_the_motion_of_a_scene_is_integrated(given: str, function: str, every: float, start: float) -> None:
    simulation, none = prepare(scene(given, function), OVERRIDES), np.zeros(0)
    motion = ConsistentMotion(simulation.compiled.model, simulation.fresh_state(), [])
    times = start + every * np.arange(round((1.0 - start) / every) + 1)
    found = np.array([[part[0] for part in motion.advance(t, none, none, none)[0][1:3]] for t in times.tolist()])
    np.testing.assert_allclose(found.T, exact(given, function, times), rtol=0, atol=1e-13)


def test_kinematics_of_a_scene(tmp_path: Path) -> None:
    found = mbsim.kinematics(written(scene("velocity", TABLE).text, tmp_path), overrides={"output.every": "0.2 s"})
    np.testing.assert_allclose(found.q[:, 0], exact("velocity", TABLE, found.times)[0], rtol=0, atol=1e-13)


def test_without_equations_the_motion_has_its_instants_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No position is singular, so that none between instants is computed."""
    times, place = list[float](), PrescribedMotion.place

    def counted(motion: PrescribedMotion, state: State, time: float) -> None:
        times.append(time)
        place(motion, state, time)

    monkeypatch.setattr(PrescribedMotion, "place", counted)
    found = mbsim.kinematics(written(scene("velocity", TABLE).text, tmp_path))
    assert set(times) == set(found.times)
    assert not found.singularities


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("given", ["velocity", "acceleration"])
def test_instants_may_go_back(given: str, function: str) -> None:
    simulation = prepare(scene(given, function))
    state = simulation.fresh_state()
    motion, times = PrescribedMotion(simulation.compiled.model, state), np.array([0.7, 0.05, 3.0, 0.3, 0.0])
    q, v = exact(given, function, times)
    for k, time in enumerate(times.tolist()):
        motion.place(state, time)
        assert state.q[0] == pytest.approx(q[k], abs=1e-13)
        assert state.v[0] == pytest.approx(v[k], abs=1e-13)


@pytest.mark.parametrize("given", ["velocity", "acceleration"])
def test_an_instant_may_be_many_periods_away(given: str) -> None:
    """Almost 800 periods."""
    simulation, w, t = prepare(slider(f'{{{given}: "sin(50*t)"}}')), 50.0, 100.0
    state = simulation.fresh_state()
    PrescribedMotion(simulation.compiled.model, state).place(state, t)
    change = (1.0 - math.cos(w * t)) / w if given == "velocity" else t / w - math.sin(w * t) / w**2
    assert state.q[0] == pytest.approx(Q + change, abs=1e-11)


def test_a_function_of_too_many_waves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prescribed_motion, "MOST_INTERVALS", 50)
    simulation = prepare(slider('{velocity: "sin(50*t)"}'))
    state = simulation.fresh_state()
    with pytest.raises(ArgumentError, match=r"joints\.x\.motion: the function has too many waves from 0 s to 100 s"):
        PrescribedMotion(simulation.compiled.model, state).place(state, 100.0)


@pytest.mark.parametrize("given", ["velocity", "acceleration"])
def test_crank_and_loop(given: str, tmp_path: Path) -> None:
    """The crank passes both positions in which it is collinear with the frame."""
    lengths, start = (0.5, 0.2, 0.45, 0.4), 0.4
    text = four_bar(lengths, (start, 0.0, 0.0), "0")
    angles = closed(lengths, start)
    motion = {
        "velocity": 'motion: {velocity: "2*pi*(1 - cos(3*t))"}',
        "acceleration": 'motion: {acceleration: "6*pi*sin(3*t)"}',
    }
    text = four_bar(lengths, angles).replace(f"q: {angles[0]!r}", f"q: {angles[0]!r}, {motion[given]}")
    found = mbsim.kinematics(written(text, tmp_path))
    names = [one.name for one in found.coordinates]
    crank = start + 2 * math.pi * (found.times - np.sin(3 * found.times) / 3)
    own = found.q[:, names.index("a")]
    np.testing.assert_allclose(own, crank, atol=1e-12)
    assert own[-1] - own[0] > math.pi
    turned = np.array([closed(lengths, theta)[2] for theta in crank])
    np.testing.assert_allclose(np.exp(1j * found.q[:, names.index("d")]), np.exp(1j * turned), atol=1e-9)


PENDULUM = """mbsim: 1
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}}
  p: {mass: 1, com: [0, 0, -1], inertia: {principal: [0, 0, 0]}}
joints:
  x: {type: prismatic, axis: [1, 0, 0], child: a, q: 0.1, motion: {acceleration: "2*sin(3*t)"}}
  h: {type: revolute, axis: [0, 1, 0], parent: a, child: p}
springs: {s: {stiffness: 100, rest_length: 0, between: [{body: world}, {body: p, point: [0, 0, -1]}]}}
gravity: [0, 0, -9.81]
simulation: {duration: 1, step: 1 ms}
"""


def place_of_pendulum(t: float | np.ndarray) -> np.ndarray:
    return np.asarray(0.1 + 2 / 3 * t - 2 / 9 * np.sin(3 * t))


@pytest.mark.parametrize("times", [[0.0, 0.25, 0.5, 0.75, 1.0], [0.5, 0.75, 1.0]])
def test_forces_on_a_pendulum_below_a_driven_base(times: list[float], tmp_path: Path) -> None:
    """It hangs straight: tau = -m a l - k x l."""
    motion = table(tmp_path / "h.csv", {"time": np.array(times), "h": np.zeros(len(times))})
    found = mbsim.inverse(written(PENDULUM, tmp_path), motion=motion)
    wanted = -2 * np.sin(3 * found.times) - 100 * place_of_pendulum(found.times)
    np.testing.assert_allclose(found.forces[:, 0], wanted, rtol=1e-12)


@pytest.mark.parametrize("at", [None, 0.0, 0.5, 1.0])
def test_equilibrium_of_a_pendulum_below_a_driven_base(at: float | None, tmp_path: Path) -> None:
    """Its angle has tan h = k x / (m g)."""
    found, x = mbsim.equilibrium(written(PENDULUM, tmp_path), at=at), float(place_of_pendulum(at or 0.0))
    assert found["x"] == pytest.approx(x, abs=1e-14)
    assert found["h"] == pytest.approx(math.atan2(100 * x, 9.81), abs=1e-9)


def test_a_given_velocity_is_that_of_a_steady_motion(tmp_path: Path) -> None:
    """A conical pendulum on a spindle whose rate is the integral of its acceleration: cos h = g / (l w^2)."""
    text = """mbsim: 1
gravity: [0, 0, -9.81]
bodies:
  spindle: {mass: 1, inertia: {principal: [1, 1, 1]}}
  p: {mass: 1, com: [0, 0, -1], inertia: {principal: [0, 0, 0]}}
joints:
  s: {type: revolute, axis: [0, 0, 1], child: spindle, v: 1, motion: {acceleration: "6*t"}}
  h: {type: revolute, axis: [0, 1, 0], parent: spindle, child: p, q: 1}
simulation: {duration: 1, step: 1 ms}
"""
    found = mbsim.equilibrium(written(text, tmp_path), at=1.0, steady={"s": None})
    assert math.cos(found["h"]) == pytest.approx(9.81 / 4.0**2, abs=1e-9)
    assert found["s"] == pytest.approx(2.0, abs=1e-13)


BODY = "bodies:\n  b: {mass: 1, inertia: {principal: [1, 1, 1]}, points: {tip: [0, 0, 0.5]}}"
HINGE = "joints:\n  h: {type: revolute, axis: [0, 1, 0], parent: a, child: b}"


@pytest.mark.parametrize("first", [0.0, 0.3])
def test_markers_on_a_driven_base(first: float, tmp_path: Path) -> None:
    times = first + 0.05 * np.arange(9)
    x, h = exact("velocity", TABLE, times)[0], np.sin(2.0 * times)
    mark = {"points/b/tip/position[x]": x + 0.5 * np.sin(h), "points/b/tip/position[z]": 0.5 * np.cos(h)}
    text = scene("velocity", TABLE).text.replace("bodies:", BODY).replace("joints:", HINGE)
    found = mbsim.kinematics(written(text, tmp_path), motion=table(tmp_path / "m.csv", {"time": times} | mark))
    names = [one.name for one in found.coordinates]
    wanted = np.column_stack([{"x": x, "h": h}[name] for name in names])
    np.testing.assert_allclose(found.q, wanted, atol=1e-11)
    assert max(one.largest for one in found.misfits) < 1e-12


def test_without_a_motion_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="prescribes no motion"):
        mbsim.kinematics(written(slider("null").text, tmp_path))
