"""The symmetric part of the stiffness of springs in axes of the bodies, against a program of Sueda's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.errors import SceneError
from multibody_cli.studies.simulation import prepare
from tests.physics.redmax_steps import Array, Joint, Scene, exp, gamma, pose

SCENES = Path(__file__).parents[2] / "scenes/validation"

SPATIAL = """
mbsim: 1
name: spatial
gravity: [0, 0, -9.8]
bodies:
  a: {mass: 2, inertia: {principal: [0.4, 0.5, 0.7]}}
  b: {mass: 1, inertia: {principal: [0.2, 0.3, 0.4]}}
  c: {mass: 3, inertia: {principal: [0.6, 0.5, 0.2]}}
joints:
  a: {type: revolute, axis: [0, 0, 1], child: a, child_origin: {position: [-0.5, 0.1, 0]}, q: 0.4, v: 1}
  b: {type: revolute, axis: [0, 1, 0], parent: a, child: b, origin: {position: [0.5, 0, 0.2]},
      child_origin: {position: [-0.3, 0, 0]}, q: -0.7, v: -2}
  c: {type: revolute, axis: [1, 0, 0], parent: b, child: c, origin: {position: [0.3, 0.1, 0]},
      child_origin: {position: [0, -0.4, 0]}, q: 1.1, v: 0.5}
springs:
  ground: {between: [{body: world, point: [1, 1, 1]}, {body: b, point: [0.1, 0.2, 0.3]}], stiffness: 300,
           rest_length: 0.4}
  short: {between: [{body: a, point: [0, 0.3, 0]}, {body: c, point: [0.2, 0, -0.1]}], stiffness: 500, rest_length: 2.5}
  long: {between: [{body: b, point: [0, 0, 0.2]}, {body: c, point: [0, 0.1, 0]}], stiffness: 200, rest_length: 0}
forces:
  drag: {body: c, viscous: {linear: 0.7, angular: 0.7}}
simulation:
  method: redmax
  duration: 0.2 s
  step: 20 ms
  integrator: linearly_implicit_euler
  options: {implicit_stiffness: symmetrized}
output: {every: 20 ms}
"""


class GeneralSpring:
    """A spring of any length at rest; K by differences of wrenches in axes of the bodies."""

    def __init__(self, a: int, xa: Any, b: int, xb: Any, k: float, rest: float) -> None:
        self.ends, self.k, self.rest = ((a, np.array(xa, float)), (b, np.array(xb, float))), k, rest

    def wrench(self, scene: Scene) -> Array:
        found = np.zeros(scene.size)
        dx = scene.point(*self.ends[1]) - scene.point(*self.ends[0])
        length = np.linalg.norm(dx)
        for sign, (i, x) in zip((1, -1), self.ends, strict=True):
            if i >= 0:
                force = sign * self.k * (length - self.rest) / length * dx
                found[scene.rows(i)] += gamma(x).T @ scene.E[i][:3, :3].T @ force
        return found

    def add(self, scene: Scene, f: Array, K: Array, D: Array) -> None:
        step, whole, places = 1e-6, np.zeros((scene.size, scene.size)), list(scene.E)
        f += self.wrench(scene)
        for j in range(scene.size):
            i, change, sides = j // 6, np.eye(6)[j % 6], []
            for sign in (1.0, -1.0):
                scene.E[i] = places[i] @ pose(exp(sign * step * change[:3]), sign * step * change[3:])
                sides.append(self.wrench(scene))
                scene.E[i] = places[i]
            whole[:, j] = (sides[0] - sides[1]) / (2 * step)
        K += (whole + whole.T) / 2

    def energy(self, scene: Scene) -> float:
        return 0.0


class MovingSpring(GeneralSpring):
    """A spring to the point p(q) of body 1, whose force acts on the coordinate q between bodies 1 and 2 too."""

    JOINT, OF_CHILD = np.array([0.3, 0.1, 0.0]), np.array([0.0, -0.4, 0.0])
    turns = True

    def wrench(self, scene: Scene) -> Array:
        (_, x), along = self.ends[0], np.array([1.0, 0.0, 0.0])
        R = scene.E[1][:3, :3].T @ scene.E[2][:3, :3]
        away = scene.E[1][:3, :3].T @ (scene.point(2, self.OF_CHILD) - scene.point(1, self.JOINT))
        q = np.arctan2(R[2, 1] - R[1, 2], R[1, 1] + R[2, 2]) if self.turns else away[0]
        place, slope = [0.1 * q, 0.05 * q * q, 0.2 + 0.1 * np.sin(q)], np.array([0.1, 0.1 * q, 0.1 * np.cos(q)])
        d = scene.point(-1, x) - scene.point(1, np.array(place))
        length = np.linalg.norm(d)
        force = scene.E[1][:3, :3].T @ (self.k * (length - self.rest) / length * d)
        found = np.zeros(scene.size)
        found[scene.rows(1)] += gamma(np.array(place)).T @ force
        pair = (force @ slope) * along
        if self.turns:
            found[scene.rows(2)[:3]] += pair
            found[scene.rows(1)[:3]] -= pair
        else:
            found[scene.rows(2)] += gamma(self.OF_CHILD).T @ pair
            found[scene.rows(1)] -= gamma(self.JOINT + away).T @ pair
        return found


def spatial(last: str = "revolute") -> Scene:
    joints = [
        Joint("revolute", np.array([0.4, 0.5, 0.7, 2, 2, 2]), body=pose(p=(0.5, -0.1, 0)), axis=(0, 0, 1), q=[0.4]),
        Joint(
            "revolute",
            np.array([0.2, 0.3, 0.4, 1, 1, 1]),
            0,
            pose(p=(1, -0.1, 0.2)),
            pose(p=(0.3, 0, 0)),
            axis=(0, 1, 0),
            q=[-0.7],
        ),
        Joint(
            last,
            np.array([0.6, 0.5, 0.2, 3, 3, 3]),
            1,
            pose(p=(0.6, 0.1, 0)),
            pose(p=(0, 0.4, 0)),
            axis=(1, 0, 0),
            q=[1.1],
            damping=0.7,
        ),
    ]
    for joint, rate in zip(joints, (1.0, -2.0, 0.5), strict=True):
        joint.v = np.array([rate])
    springs = [
        GeneralSpring(-1, (1, 1, 1), 1, (0.1, 0.2, 0.3), 300, 0.4),
        GeneralSpring(0, (0, 0.3, 0), 2, (0.2, 0, -0.1), 500, 2.5),
        GeneralSpring(1, (0, 0, 0.2), 2, (0, 0.1, 0), 200, 0),
    ]
    return Scene(joints, h=0.02, gravity=(0, 0, -9.8), forces=springs)


def scene_file(folder: Path, text: str = SPATIAL) -> Path:
    path = folder / "scene.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("mass_matrix", ["composite", "jacobian"])
def test_steps_with_stretched_and_compressed_springs_are_those_of_the_notes(mass_matrix: str, tmp_path: Path) -> None:
    overrides = [f"simulation.options.mass_matrix={mass_matrix}"]
    summary, run = prepare(scene_file(tmp_path), overrides).run_in_memory()
    assert summary.outcome.reached_end
    steps = spatial()
    for k in range(1, 11):
        steps.step(0.02 * k)
        found = [float(run.channel(f"joints/{name}/v").values[k, 0]) for name in "abc"]
        np.testing.assert_allclose(found, steps.v, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
def test_steps_with_a_moving_point_are_those_of_the_notes(joint: str, tmp_path: Path) -> None:
    """The force on the coordinate of the point is a pair of wrenches, constant in axes of its bodies."""
    moving = "{body: b, coordinate: c, moving: ['0.1*q', '0.05*q**2', '0.2 + 0.1*sin(q)']}"
    text = SPATIAL[: SPATIAL.index("  long:")] + SPATIAL[SPATIAL.index("forces:") :]
    text = text.replace("c: {type: revolute", f"c: {{type: {joint}").replace(
        "springs:\n",
        f"springs:\n  m: {{path: [{{body: world, point: [0.3, 0.9, -0.4]}}, {moving}], stiffness: 200, "
        "rest_length: 0.3}\n",
    )
    summary, run = prepare(scene_file(tmp_path, text)).run_in_memory()
    assert summary.outcome.reached_end
    steps, spring = spatial(joint), MovingSpring(-1, (0.3, 0.9, -0.4), 1, (0, 0, 0), 200, 0.3)
    spring.turns = joint == "revolute"
    steps.forces[2] = spring
    for k in range(1, 11):
        steps.step(0.02 * k)
        found = [float(run.channel(f"joints/{name}/v").values[k, 0]) for name in "abc"]
        np.testing.assert_allclose(found, steps.v, rtol=1e-6, atol=1e-6)


def test_both_kinds_of_stiffness_have_the_same_limit_of_small_steps(tmp_path: Path) -> None:
    """The difference of the two is of first order: it halves with the step."""
    differences = []
    for step in ("1 ms", "0.5 ms"):
        ends = []
        for kind in ("semidefinite", "symmetrized"):
            overrides = [f"simulation.step={step}", f"simulation.options.implicit_stiffness={kind}"]
            _, run = prepare(scene_file(tmp_path), overrides).run_in_memory()
            ends.append(np.array([run.channel(f"joints/{name}/q").values[-1] for name in "abc"]))
        differences.append(float(np.abs(ends[1] - ends[0]).max()))
    assert differences[0] > 1e-6
    assert differences[1] == pytest.approx(differences[0] / 2, rel=0.1)


def test_loops_have_the_same_limit_of_small_steps() -> None:
    """A spring from crank to rocker of a four-bar linkage."""
    ends_of_spring = "[{body: crank, point: [0.5, 0, 0.3]}, {body: rocker, point: [1, 0, 0]}]"
    spring = f"{{between: {ends_of_spring}, stiffness: 2e4, rest_length: 3}}"
    settings = [f"springs={{s: {spring}}}", "simulation.method=redmax", "simulation.integrator=linearly_implicit_euler"]
    settings += [f"joints.{name}.friction=null" for name in ("crank", "coupler", "rocker", "loop")]
    settings += ["simulation.duration=0.2", "output.every=0.1", "expect=[]"]
    differences = []
    for step in ("1e-4", "5e-5"):
        ends = []
        for kind in ("semidefinite", "symmetrized"):
            options = f"simulation.options={{implicit_stiffness: {kind}}}"
            simulation = prepare(SCENES / "redmax_scene_30.yaml", [*settings, options, f"simulation.step={step}"])
            _, run = simulation.run_in_memory(["bodies/position"])
            ends.append(run.channel("bodies/position").values[-1])
        differences.append(float(np.abs(ends[1] - ends[0]).max()))
    assert differences[1] == pytest.approx(differences[0] / 2, rel=0.1)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["simulation.integrator=sdirk2"], "use `linearly_implicit_euler` instead of `sdirk2`"),
        (["simulation.integrator=rk4"], "use `linearly_implicit_euler` instead of `rk4`"),
        (["joints.a.limits=[-1, 1]"], "impacts and dry friction require `implicit_stiffness: semidefinite`"),
        (["simulation.method=aba"], "implicit_stiffness"),
    ],
)
def test_what_it_does_not_go_with_is_refused(overrides: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=message):
        prepare(scene_file(tmp_path), overrides)


def test_without_springs_between_bodies_it_has_no_effect(tmp_path: Path) -> None:
    """A note says so; with a spring there is none."""
    path = tmp_path / "scene.yaml"
    settings = ["simulation.integrator=linearly_implicit_euler", "simulation.options.implicit_stiffness=symmetrized"]
    text = SPATIAL[: SPATIAL.index("springs:")] + "simulation: {duration: 1 s, step: 1 ms, method: redmax}\n"
    path.write_text(text, encoding="utf-8")
    noted = [w for w in prepare(str(path), settings).loaded.warnings if "implicit_stiffness" in w]
    assert [w.partition("implicit_stiffness: ")[2] for w in noted] == ["has no effect: no spring acts between bodies"]
