"""All forces on a body add up to the rate of its momentum, by Newton and Euler, in every scene of the gallery.

The forces are those of the result: of gravity, joints, elements and contacts.  The accelerations are those of four
named points of each body, so that nothing here is computed as the program computes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from multibody_cli.errors import SceneError
from multibody_cli.escaping import path_component
from multibody_cli.methods import METHODS
from multibody_cli.nodes import format_path
from multibody_cli.output.bodies import rotate
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.studies.wrenches import Applied, applied_wrenches

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"
POINTS = {"o_": [0, 0, 0], "x_": [1, 0, 0], "y_": [0, 1, 0], "z_": [0, 0, 1]}
WITHOUT_ORIENTATION = {"affine_body", "affine_contact", "point_bodies", "springs"}
"""Scenes of points and affine bodies alone, whose accelerations no named points have."""


def trials() -> Iterator[Any]:
    """Every scene with its own method, and nightly with every other."""
    for scene in sorted(GALLERY.glob("*.yaml")):
        tree = yaml.load(scene.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        own = (tree.get("simulation") or {}).get("method", "aba")
        for method in METHODS:
            marks = [] if method == own else [pytest.mark.nightly]
            yield pytest.param(scene, method, method == own, marks=marks, id=f"{scene.stem}-{method}")


@pytest.mark.parametrize(("path", "method", "is_own"), list(trials()))
def test_forces_are_the_rate_of_momentum(path: Path, method: str, is_own: bool) -> None:
    try:
        simulation = prepare(path, [f"simulation.method={method}", *added_points(path)])
    except SceneError:
        assert not is_own
        return  # refused by name: the scene's own test sees to the words
    sink = MemorySink()
    summary = simulation.run(sink)
    assert summary.outcome.reached_end, summary.outcome.message
    trajectory, scene = sink.trajectory(), simulation.scene
    bodies = [name for name, body in scene.bodies.items() if body.kind in ("rigid", "planar")]
    assert bodies or path.stem in WITHOUT_ORIENTATION
    masses = masses_of(simulation)
    applied = applied_wrenches(trajectory, scene, {name: mass for name, (mass, _, _) in masses.items()})
    # impulses of a step act with the levers at its start, which the body leaves behind
    has_impulses = scene.contacts is not None or bool(scene.friction_joints or scene.brakes)
    step = scene.simulation.step if has_impulses else 0.0
    for name in bodies:
        check_balance(trajectory, name, masses[name], applied[name], step, scene.bodies[name].kind == "planar")


def added_points(path: Path) -> Iterator[str]:
    """Yield the overrides that give each rigid body of a scene four points."""
    for name, body in prepare(path).scene.bodies.items():
        if body.kind in ("rigid", "planar"):
            key = format_path(("bodies", name, "points"))
            if body.points:
                yield from (f"{key}.{point}={place}" for point, place in POINTS.items())
            else:
                yield f"{key}={POINTS}".replace("'", "")


def masses_of(simulation: PreparedSimulation) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
    """Mass, kg, center of mass, m, and central inertia in the body frame, kg m^2, of each body."""
    model = simulation.compiled.model
    found = {}
    for name, com, row in zip(model.names.bodies, model.com, model.names.body_rows, strict=True):
        link, frame = model.system.tree.links[row], model.system.tree.frames[row]["frame"].reshape(3, 3)
        xx, xy, xz, yy, yz, zz = link["central"]
        central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found[name] = float(link["mass"]), com, frame @ central @ frame.T  # the frame is stored by columns
    return found


def check_balance(
    trajectory: Any,
    name: str,
    mass: tuple[float, np.ndarray, np.ndarray],
    applied: list[Applied],
    step: float,
    is_planar: bool,
) -> None:
    m, center, inertia = mass
    own = path_component(name)
    a = {point: trajectory.channel(f"points/{own}/{point}/acceleration").values for point in POINTS}
    words = ("quaternion", "angular_velocity", "com")
    q, w, com = (trajectory.channel(f"bodies/{own}/{word}").values for word in words)
    axes = [rotate(q, np.tile(axis, (len(q), 1))) for axis in np.eye(3)]
    R = np.stack(axes, axis=2)
    swing = [a[p] - a["o_"] - np.cross(w, np.cross(w, r)) for p, r in zip(("x_", "y_", "z_"), axes, strict=True)]
    alpha = 0.5 * sum(np.cross(r, one) for r, one in zip(axes, swing, strict=True))  # as alpha x r is `swing`
    c = R @ center
    inertial = m * (a["o_"] + np.cross(alpha, c) + np.cross(w, np.cross(w, c)))
    central = R @ inertia @ np.swapaxes(R, 1, 2)
    spin = (central @ w[:, :, None])[:, :, 0]
    turning = (central @ alpha[:, :, None])[:, :, 0] + np.cross(w, spin)
    force, moment = sum(one.force for one in applied), sum(one.about(com) for one in applied)
    largest = np.linalg.norm(inertial, axis=1).max() + sum(np.linalg.norm(one.force, axis=1).max() for one in applied)
    radius = max(np.linalg.norm(one.point - com, axis=1).max() for one in applied)
    radius = max(radius, np.sqrt(np.trace(inertia) / m) if m else 0.0)
    moments = sum(np.linalg.norm(one.about(com), axis=1).max() for one in applied)
    scale = radius * largest + moments + np.linalg.norm(turning, axis=1).max() + np.linalg.norm(w) ** 2 * inertia.max()
    v = trajectory.channel(f"bodies/{own}/linear_velocity").values
    speed, rate = (np.linalg.norm(one, axis=1).max() for one in (v + np.cross(w, c), w))
    left_behind = 2.0 * step * (largest * (speed + rate * radius) + rate * moments)
    if is_planar:  # the plane supports the body in the other directions
        n = axes[2]
        excess, rest = force - inertial, moment - turning
        force = inertial + excess - n * (n * excess).sum(axis=1, keepdims=True)
        moment = turning + n * (n * rest).sum(axis=1, keepdims=True)
    assert np.abs(force - inertial).max() <= 1e-9 * largest, name
    assert np.abs(moment - turning).max() <= 1e-9 * scale + left_behind, name
