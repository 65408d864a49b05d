"""The equations of motion of a scene: as formulas where it is small, else as numbers at a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.equations.chain import Chain, body_frame, chain_of
from multibody_cli.equations.terms import terms_of
from multibody_cli.errors import ArgumentError, Refused
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Status
from multibody_cli.model import Model, State
from multibody_cli.spec import SignalSpec
from multibody_cli.studies.simulation import Simulation, prepare
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import Value

SMALL = 4
"""Velocities of a scene, at most, whose equations are written as formulas."""

LARGE = 200
"""Velocities of a scene, at most, whose terms are worked out as numbers."""


@dataclass(frozen=True)
class Coordinate:
    """A velocity: its number, what it moves, and the position numbers q that go with it, counted from 1."""

    number: int
    joint: str
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Equations:
    """M(q) dv/dt + h(q, v) = tau.

    Parameters
    ----------
    name
        Of the scene.
    coordinates
        One for each velocity.
    M, h, tau
        (n, n), (n,), (n,): formulas of SymPy, with words for tau; or numbers, with tau all that brings dv/dt about.
    jacobians
        By body: (6, n), from v to the twist [w; v] of the body frame in its own axes.
    beside
        What acts beside what is written.
    state
        Where numbers are: time, q, v and dv/dt; None for formulas.
    """

    name: str
    coordinates: list[Coordinate]
    M: Any
    h: Any
    tau: Any
    jacobians: dict[str, Any]
    beside: list[str]
    state: dict[str, Any] | None


def equations_of(path: Path | str, overrides: Sequence[str], at: float | None) -> Equations:
    """Write the equations of a scene down.

    Parameters
    ----------
    path, overrides
        The scene file, and values to replace.
    at
        A time, s, for the terms as numbers there; None for formulas, or for numbers at the start where it is large.

    Raises
    ------
    Refused
        If the scene cannot be written so, or does not come as far as `at`.
    """
    simulation = prepare_in_joints(path, overrides)
    model = simulation.compiled.model
    n = int(model.system.tree.links["nv"].sum())
    if n > LARGE:
        raise Refused(f"the scene has {n} coordinates, and the terms of {LARGE} at most are written out")
    if at is None and n <= SMALL:
        return _formulas(simulation)
    return _numbers(simulation, at or 0.0)


def prepare_in_joints(path: Path | str, overrides: Sequence[str]) -> Simulation:
    """Make a scene ready to run in the coordinates of its joints, whatever its method works in.

    Raises
    ------
    SceneError
        With every problem that was found.
    Refused
        If the scene has bodies that deform.
    """
    simulation = prepare(path, overrides)
    if simulation.compiled.model.names.affine:
        raise Refused("bodies of `kind: affine` have no equations in the coordinates of joints")
    if METHODS[simulation.scene.simulation.method].maximal:
        simulation = prepare(path, (*overrides, "simulation.method=aba", "simulation.options={}"))
    return simulation


def _formulas(simulation: Simulation) -> Equations:
    from multibody_cli.equations.simplified import simplified

    model, state = simulation.compiled.model, simulation.compiled.state
    tree = model.system.tree
    chain = chain_of(tree, model.shapes, state.q)
    terms = terms_of(tree, chain)
    n = len(terms.h)
    frames = {name: body_frame(tree, chain, row).S for name, row in _bodies(model)}
    values: list[Value] = [value for row in terms.M for value in row] + terms.h
    for S in frames.values():
        values += [value for s in S for value in (*s.w, *s.v)]
    found = simplified(values)
    M = [found[n * i : n * (i + 1)] for i in range(n)]
    h, rest = found[n * n : n * n + n], found[n * n + n :]
    jacobians = {
        name: [[rest[6 * (n * k + j) + i] for j in range(n)] for i in range(6)] for k, name in enumerate(frames)
    }
    coordinates = _coordinates(model)
    efforts = [" + ".join(_efforts(simulation, one)) or "0" for one in coordinates]
    return Equations(simulation.scene.name, coordinates, M, h, efforts, jacobians, beside(simulation), None)


def _numbers(simulation: Simulation, at: float) -> Equations:
    state = _state_at(simulation, at)
    model = simulation.compiled.model
    tree = model.system.tree
    chain = chain_of(tree, model.shapes, state.q)
    terms = terms_of(tree, chain)
    n = len(terms.h)
    names = _names(chain, state)
    found = np.array(evaluate([value for row in terms.M for value in row] + terms.h, names), dtype=np.float64)
    M, h = found[: n * n].reshape(n, n), found[n * n :]
    a = state.a[:n]
    jacobians = {}
    for name, row in _bodies(model):
        columns = [evaluate([*s.w, *s.v], names) for s in body_frame(tree, chain, row).S]
        jacobians[name] = np.array(columns, dtype=np.float64).reshape(n, 6).T
    where = {"time": float(state.time[0]), "q": state.q[: len(chain.coordinates.q)], "v": state.v[:n], "a": a}
    return Equations(simulation.scene.name, _coordinates(model), M, h, M @ a + h, jacobians, beside(simulation), where)


def _state_at(simulation: Simulation, at: float) -> State:
    """The state at a time, with the accelerations there."""
    duration = simulation.scene.simulation.duration
    if not 0.0 <= at <= duration:
        raise ArgumentError(f"--at {at:g} s lies outside of the scene, which ends at {duration:g} s")
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    report = method.start(state)
    if report.status is Status.OK and at > 0.0:
        report = method.advance(state, _on_a_step(simulation, at))
    if report.status is not Status.OK:
        raise Refused(f"the run does not come as far as {at:g} s: {report.status.value}; `mbsim run` tells why")
    return state


def _on_a_step(simulation: Simulation, at: float) -> float:
    """The time of the step that is nearest to a time, unless the integrator takes any."""
    if simulation.integrator.adaptive:
        return at
    step = simulation.compiled.control.step
    return round(at / step) * step


def _names(chain: Chain, state: State) -> dict[str, float]:
    """Numbers for the names in formulas; those of joints that close loops stand behind, and are in none."""
    coordinates = chain.coordinates
    pairs = [*zip(coordinates.q, state.q, strict=False), *zip(coordinates.v, state.v, strict=True)]
    return {scalar.text: float(value) for scalar, value in pairs}


def _bodies(model: Model) -> Iterator[tuple[str, int]]:
    for name, row in zip(model.names.bodies, model.names.body_rows, strict=True):
        yield name, int(row)


def _coordinates(model: Model) -> list[Coordinate]:
    tree = model.system.tree
    n = int(tree.links["nv"].sum())
    positions: dict[int, tuple[int, ...]] = {int(one["iv"]): (int(one["iq"]) + 1,) for one in tree.plain}
    for one in tree.quaternions:
        for j in range(3):
            positions[int(one["iv"]) + j] = tuple(range(int(one["iq"]) + 1, int(one["iq"]) + 5))
    return [Coordinate(k + 1, model.names.coordinates[k], positions[k]) for k in range(n)]


# --- what acts ----------------------------------------------------------------------------------------------------
def _efforts(simulation: Simulation, coordinate: Coordinate) -> Iterator[str]:
    """What the joint of a coordinate pushes it with, in words."""
    names = simulation.compiled.model.names
    for entry in names.joints:
        k = coordinate.number - 1 - entry.columns.start
        joint = simulation.scene.joints[entry.name]
        if not (isinstance(joint, MovingJointSpec) and 0 <= k < len(entry.coordinates)):
            continue
        q, v = f"q{coordinate.positions[0]}", f"v{coordinate.number}"
        if joint.stiffness is not None and joint.stiffness[k]:
            rest = getattr(joint, "rest", ())
            relaxed = f"({q} - {rest[k]:.10g})" if joint.plain[k] and rest[k] else q
            yield f"-{joint.stiffness[k]:.10g}*{relaxed}" if joint.plain[k] else "(rotation spring)"
        if joint.damping is not None and joint.damping[k]:
            yield f"-{joint.damping[k]:.10g}*{v}"
        if joint.force is not None:
            yield _signal(joint.force[k])
        if joint.motion is not None and joint.motion.signals[k] is not None:
            yield f"(what it takes that its {joint.motion.given} is {_signal(joint.motion.signals[k])})"


def _signal(signal: SignalSpec | None) -> str:
    assert signal is not None
    if signal.expression is not None:
        return f"({signal.expression.text})"
    return "table(t)" if signal.times else f"{signal.constant or 0.0:.10g}"


def beside(simulation: Simulation) -> list[str]:
    """Name what acts on bodies, and what restrains them, which is not written out."""
    scene, model = simulation.scene, simulation.compiled.model
    words = [
        f"{section} {', '.join(f'`{name}`' for name in entries)}"
        for section in ("springs", "muscles", "strands", "forces", "couplings", "constraints")
        if (entries := getattr(scene, section))
    ]
    limited = [name for name, joint in scene.joints.items() if isinstance(joint, MovingJointSpec) and joint.bounds]
    closing = [model.names.joints[k].name for k in range(len(model.names.joints)) if _closes(model, k)]
    if closing:
        words.append(f"joints that close loops: {', '.join(f'`{name}`' for name in closing)}")
    if limited:
        words.append(f"limits of {', '.join(f'`{name}`' for name in limited)}")
    if scene.contacts is not None:
        words.append("contacts")
    return words


def _closes(model: Model, k: int) -> bool:
    return model.names.joints[k].row >= len(model.system.tree.links)
