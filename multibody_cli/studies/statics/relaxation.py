"""Rest of scenes with contacts or dry friction: the position at which the motion without momentum stays.

The method of the scene takes its steps with all velocities set to zero at the start and wherever the kinetic energy
has passed a maximum.  The position is at rest if a step from rest causes no velocity: contacts and friction then hold
all forces.  A start that they hold is its own result.  Friction may hold neighboring positions as well: the result is
one of a set.

Source: Cundall, Explicit finite-difference methods in geomechanics (1976), for kinetic damping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.methods.contract import Status
from multibody_cli.methods.method import Method
from multibody_cli.model import Model, State
from multibody_cli.output.element_rows import element_rows
from multibody_cli.spatial.products import cross
from multibody_cli.spatial.values import Vec3
from multibody_cli.statics.held import HeldEquilibrium, HeldPosition, Hold
from multibody_cli.statics.search import TOUCHING, Equilibrium
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.coordinates import Coordinates
from multibody_cli.studies.simulation import PreparedSimulation

MOST_STEPS = 20_000

AT_REST = 1e-10
"""Acceleration from rest, relative to gravity, or without it to that of the start, that contacts and friction hold."""


class Rest(NamedTuple):
    """A position of rest, its stability, and the forces of contacts: of the first body on the second one, world axes.

    `contacts` are the resultants of pairs of bodies, N, and `points` the contacts with their forces.
    """

    held: HeldEquilibrium
    contacts: Mapping[str, Floats]
    points: tuple[PointForce, ...]


class PointForce(Immutable, eq=False):
    """The force of a contact: its pair of bodies, its point, m, and the force of the first on the second one, N."""

    pair: str
    point: Floats
    force: Floats


def relaxed(prepared: PreparedSimulation, start: State) -> Rest:
    """Return the position of rest to which a start leads.

    Parameters
    ----------
    prepared
        The scene, whose prescribed motions hold.
    start
        The start.

    Raises
    ------
    RunFailed
        The motion does not come to rest.
    """
    model, step, time = prepared.compiled.model, prepared.scene.simulation.step, float(start.time[0])
    tree, state = model.system.tree, start.copy()
    state.v[:] = 0.0
    method, equations = prepared.method_for(state), EquationsOfMotion(model)
    method.start(state)
    scale, kinetic = float(np.linalg.norm(tree.gravity)) / tree.length, 0.0
    for steps in range(1, MOST_STEPS + 1):
        before, was_at_rest = state.q.copy(), not state.v.any()
        report = method.advance(state, time + step)
        if report.status is not Status.OK or not np.isfinite(state.v).all():
            raise RunFailed(f"no equilibrium at t = {time:g} s: step {steps} without momentum fails")
        speeds = np.abs(state.v * tree.weights)
        acceleration = float(speeds.max(initial=0.0)) / step
        scale = scale or acceleration or 1.0
        if was_at_rest and acceleration <= AT_REST * scale:
            state.time[0], state.q[:], state.v[:] = time, before, 0.0
            return _examined(model, method, _at_rest(model, state, acceleration / scale, steps))
        last, kinetic = kinetic, equations.energies(state)[0]
        state.time[0] = time
        if kinetic < last:
            state.v[:], kinetic = 0.0, 0.0
        method.restart()
    fastest = Coordinates(prepared.scene, model).by_index(int(np.argmax(speeds[: len(tree.weights)]))).name
    raise RunFailed(
        f"no equilibrium at t = {time:g} s: the motion does not come to rest in {MOST_STEPS} steps without momentum; "
        f"{fastest} moves fastest then: check that contacts, friction, springs or limits hold it, or increase the step "
        "with --set simulation.step"
    )


def _at_rest(model: Model, state: State, residual: float, steps: int) -> Equilibrium:
    rows = len(model.system.rows)
    return Equilibrium(
        state=state,
        multipliers=np.zeros(rows),
        active=np.zeros(rows, np.bool_),
        residual=residual,
        stiffness=np.zeros(0),
        directions=np.zeros((model.nv, 0)),
        potential=False,
        circulatory=np.zeros((0, 0)),
        steps=steps,
    )


def _examined(model: Model, method: Method, rest: Equilibrium) -> Rest:
    """Return a position of rest with its stability, and with the forces of contacts."""
    step = method.contact_work.step.sizes[0]
    contacts = method.contact_work.detection.contacts[: int(step["contacts"])].copy()
    contacts = contacts[(contacts["impulse"][:, 0] > 0.0) | (contacts["gap"] <= TOUCHING * model.system.tree.length)]
    holds, reason = _holds(model, method, float(step["h"]))
    impulses = contacts["impulse"] / float(step["h"])
    held = HeldPosition(model, rest.state, contacts, holds).equilibrium(rest)
    if reason:
        held = HeldEquilibrium(rest, held.forces, 0, 0, reason)
    numbers, names, points = element_rows(model).numbers, model.names.bodies, list[PointForce]()
    for contact, own in zip(contacts, held.forces[:, :3] if len(held.forces) else impulses, strict=True):
        n = Vec3(*contact["normal"])
        t = tangent_of(n)
        force = own @ np.array([n, t, cross(n, t)])
        a, b = (int(numbers[contact[body]]) for body in ("body_a", "body_b"))
        order = 1.0 if a < b else -1.0
        pair = ":".join("world" if k < 0 else names[k] for k in sorted((a, b)))
        if force.any():
            points.append(PointForce(pair, contact["point"].copy(), order * force))
    pairs = dict.fromkeys(one.pair for one in points)
    contacts_of = {pair: np.sum([one.force for one in points if one.pair == pair], axis=0) for pair in pairs}
    return Rest(held, contacts_of, tuple(points))


def _holds(model: Model, method: Method, h: float) -> tuple[list[Hold], str]:
    """Return the coordinates that dry friction of joints may hold; why others may be held as well, or ""."""
    names, tree, table = model.names, model.system.tree, model.system.contacts.joint_friction
    if names.brakes or names.friction_ropes:
        return [], "friction of combinations, paths or ropes holds it"
    found = []
    for patch, limit in zip(table.patches, method.contact_work.joint_friction.limit, strict=True):
        row = int(patch["row"])
        if row >= len(tree.links) or tree.links["nv"][row] != 1:
            return [], "friction of a joint with several directions, or in a loop, holds it"
        found.append(Hold(int(tree.links["iv"][row]), float(limit) / h))
    return found, ""
