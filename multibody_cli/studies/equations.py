"""The equations of motion of a scene: as formulas for small scenes, otherwise as numbers at a state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.diagnostics.joint_domains import domain_violation
from multibody_cli.document.source import SceneSource
from multibody_cli.equations.chain import Chain, body_frame, chain_of, counts_of, pieces_of
from multibody_cli.equations.terms import terms_of
from multibody_cli.errors import ArgumentError, Refused
from multibody_cli.immutable import Immutable
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.methods.contract import Report, Status
from multibody_cli.model import Model, State
from multibody_cli.spec import SignalSpec
from multibody_cli.studies.simulation import PreparedSimulation, in_joint_coordinates, prepare
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import Value

MAX_SYMBOLIC = 4
"""Velocities of a scene, at most, for equations as formulas."""

MAX_NUMERIC = 200
"""Velocities of a scene, at most, for equations as numbers."""


class NumberedCoordinate(Immutable):
    """A velocity: its number, its joint, and the position coordinates q that belong to it, counted from 1."""

    number: int
    joint: str
    positions: tuple[int, ...]


class Equations(Immutable):
    """M(q) dv/dt + h(q, v) = tau.

    Parameters
    ----------
    name
        Name of the scene.
    coordinates
        One for each velocity.
    M, h, tau
        (n, n), (n,), (n,): SymPy formulas, where each tau is a list of summands, some of them text; or numbers, where
        tau is the sum of all forces, M dv/dt + h.
    jacobians
        By body: (6, n), from v to the twist [w; v] of the body frame in its own axes.
    beside
        Forces and constraints that the formulas omit.
    intermediate
        Of formulas: intermediate quantities with their formulas, in order.
    within
        Of formulas: for position coordinates, counted from 0, the interval in which the formulas hold.
    state
        Of numbers: time, q, v and dv/dt; None for formulas.
    """

    name: str
    coordinates: list[NumberedCoordinate]
    M: Any
    h: Any
    tau: Any
    jacobians: dict[str, Any]
    beside: list[str]
    state: dict[str, Any] | None
    intermediate: Mapping[str, Any] = {}
    within: Mapping[int, tuple[float, float]] = {}


def equations_of(source: SceneSource, overrides: Sequence[str], at: float | None) -> Equations:
    """Return the equations of a scene.

    Parameters
    ----------
    source, overrides
        The scene file, and values to replace.
    at
        Time (s) at which to evaluate the terms; None for formulas, or for numbers at the start of a large scene.

    Raises
    ------
    Refused
        If the scene has no such equations, or its run ends before `at`.
    """
    simulation = prepare_in_joints(source, overrides)
    model = simulation.compiled.model
    n = counts_of(model.system.tree).v
    if n > MAX_NUMERIC:
        raise Refused(f"the scene has {n} coordinates; equations are limited to {MAX_NUMERIC}")
    if at is None and n <= MAX_SYMBOLIC:
        return _formulas(simulation)
    return _numbers(simulation, at or 0.0)


def prepare_in_joints(source: SceneSource, overrides: Sequence[str]) -> PreparedSimulation:
    """Prepare a scene in joint coordinates, regardless of the coordinates of its method.

    Raises
    ------
    SceneError
        With all problems of the scene.
    """
    return in_joint_coordinates(prepare(source, overrides), source, overrides)


def _formulas(simulation: PreparedSimulation) -> Equations:
    from multibody_cli.equations.simplified import simplified

    model, state = simulation.compiled.model, simulation.compiled.state
    tree = model.system.tree
    chain = chain_of(tree, model.joint_maps, state.q)
    terms = terms_of(tree, chain)
    n = len(terms.h)
    frames = {name: body_frame(tree, chain, row).S for name, row in _bodies(model)}
    values: list[Value] = [value for row in terms.M for value in row] + terms.h
    for S in frames.values():
        values += [value for s in S for value in (*s.w, *s.v)]
    pieces = list(pieces_of(tree, model.joint_maps, state.q))
    quaternions = [[q.text for q in four] for four in chain.coordinates.quaternions]
    origins = {chain.coordinates.q[one.iq].text: one.lower for one in pieces if one.lower}
    found, intermediate = simplified(values, quaternions, origins)
    M = [found[n * i : n * (i + 1)] for i in range(n)]
    h, rest = found[n * n : n * n + n], found[n * n + n :]
    jacobians = {
        name: [[rest[6 * (n * k + j) + i] for j in range(n)] for i in range(6)] for k, name in enumerate(frames)
    }
    return Equations(
        simulation.scene.name,
        _coordinates(model),
        M,
        h,
        joint_forces_of(simulation, n, lambda word, number: f"{word}{number + 1}"),
        jacobians,
        omitted_effects(simulation),
        None,
        {str(symbol): formula for symbol, formula in intermediate},
        {one.iq: (one.lower, one.upper) for one in pieces},
    )


def _numbers(simulation: PreparedSimulation, at: float) -> Equations:
    state = _state_at(simulation, at)
    model = simulation.compiled.model
    tree = model.system.tree
    chain = chain_of(tree, model.joint_maps, state.q)
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
    return Equations(
        simulation.scene.name, _coordinates(model), M, h, M @ a + h, jacobians, omitted_effects(simulation), where
    )


def _state_at(simulation: PreparedSimulation, at: float) -> State:
    """The state at a time, with the accelerations there."""
    duration = simulation.scene.simulation.duration
    if not 0.0 <= at <= duration:
        raise ArgumentError(f"--at {at:g} s is outside the simulated time, 0 to {duration:g} s")
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    _require_sound(simulation, state, method.start(state), at)
    for instant in _instants(simulation, at):
        _require_sound(simulation, state, method.advance(state, instant), at)
    return state


def _require_sound(simulation: PreparedSimulation, state: State, report: Report, at: float) -> None:
    if report.status is not Status.OK:
        raise Refused(f"the run ends before {at:g} s: {report.status.value}; `mbsim run` reports the reason")
    if left := domain_violation(simulation.compiled.model, state):
        raise Refused(left)


def _instants(simulation: PreparedSimulation, at: float) -> Iterator[float]:
    """The output instants before a time, at which a run is checked, and the time itself."""
    if at > 0.0:
        every, last = simulation.compiled.timing.every, _on_a_step(simulation, at)
        yield from (k * every for k in range(1, math.ceil(last / every - 1e-9)))
        yield last


def _on_a_step(simulation: PreparedSimulation, at: float) -> float:
    """The time of the nearest step, unless the integrator is adaptive."""
    if simulation.integrator.adaptive:
        return at
    step = simulation.compiled.control.step
    return round(at / step) * step


def _names(chain: Chain, state: State) -> dict[str, float]:
    """Values of the names in formulas; coordinates of loop joints follow the others and do not occur."""
    coordinates = chain.coordinates
    pairs = [*zip(coordinates.q, state.q, strict=False), *zip(coordinates.v, state.v, strict=False)]
    return {scalar.text: float(value) for scalar, value in pairs}


def _bodies(model: Model) -> Iterator[tuple[str, int]]:
    for name, row in zip(model.names.bodies, model.names.body_rows, strict=True):
        yield name, int(row)


def _coordinates(model: Model) -> list[NumberedCoordinate]:
    tree = model.system.tree
    positions: dict[int, tuple[int, ...]] = {int(one["iv"]): (int(one["iq"]) + 1,) for one in tree.plain}
    for one in tree.quaternions:
        for j in range(3):
            positions[int(one["iv"]) + j] = tuple(range(int(one["iq"]) + 1, int(one["iq"]) + 5))
    return [NumberedCoordinate(k + 1, model.names.coordinates[k], positions[k]) for k in range(counts_of(tree).v)]


Naming = Callable[[str, int], str]
"""Function from `q` or `v` and an index, counted from 0, to a name."""


def joint_forces_of(simulation: PreparedSimulation, n: int, naming: Naming) -> list[list[Any]]:
    """Return the forces of joints on each of their coordinates, as summands: SymPy formulas, or text.

    Parameters
    ----------
    simulation
        The scene.
    n
        Number of coordinates, counted from the first.
    naming
        Names of position coordinates and velocities.
    """
    model = simulation.compiled.model
    places = {int(one["iv"]): int(one["iq"]) for one in model.system.tree.plain}
    joint_forces: list[list[Any]] = [[] for _ in range(n)]
    for entry in model.names.joints:
        joint = simulation.scene.joints[entry.name]
        if isinstance(joint, MovingJointSpec):
            for k, column in enumerate(range(entry.columns.start, min(entry.columns.stop, n))):
                joint_forces[column] += _joint_forces(joint, k, naming("q", places.get(column, 0)), naming("v", column))
    return joint_forces


def _joint_forces(joint: MovingJointSpec, k: int, q: str, v: str) -> Iterator[Any]:
    """Forces of a joint on its coordinate k."""
    import sympy

    from multibody_cli.equations.simplified import number

    if joint.stiffness is not None and joint.stiffness[k]:
        rest = getattr(joint, "rest", None)
        stretch = sympy.Symbol(q) - number(rest[k] if rest and joint.plain[k] else 0.0)
        yield sympy.Mul(number(-joint.stiffness[k]), stretch, evaluate=False) if joint.plain[k] else "rotation spring"
    if joint.damping is not None and joint.damping[k]:
        yield number(-joint.damping[k]) * sympy.Symbol(v)
    if joint.force is not None:
        yield from _signal(joint.force[k])
    if joint.motion is not None and joint.motion.signals[k] is not None:
        prescribed = next(_signal(joint.motion.signals[k]), 0)
        yield f"force of the prescribed {joint.motion.given} {prescribed}"


def _signal(signal: SignalSpec | None) -> Iterator[Any]:
    from multibody_cli.equations.simplified import as_written, number

    assert signal is not None
    expression = signal.expression
    if expression is not None and (signal.uses_state or expression.references or expression.functions):
        yield expression.text
    elif expression is not None:
        yield as_written(expression)
    elif signal.times:
        yield "table(t)"
    elif signal.constant:
        yield number(signal.constant)


def omitted_effects(simulation: PreparedSimulation) -> list[str]:
    """Return the names of body forces, constraints and contacts, which the equations omit."""
    scene, model = simulation.scene, simulation.compiled.model
    words = [
        f"{section} {_listed(list(entries))}"
        for section in ("springs", "muscles", "strands", "forces", "actuators", "couplings", "constraints")
        if (entries := getattr(scene, section))
    ]
    limited = [name for name, joint in scene.joints.items() if isinstance(joint, MovingJointSpec) and joint.bounds]
    closing = [joint.name for joint in model.names.joints if joint.row >= len(model.system.tree.links)]
    named = {
        "joints that close loops:": closing,
        "limits of": limited,
        "dry friction of": [
            *model.names.friction_joints,
            *(name for _, name in model.names.brakes),
            *(rope.name for rope in model.names.friction_ropes),
        ],
    }
    words += [f"{heading} {_listed(names)}" for heading, names in named.items() if names]
    return [*words, "contacts"] if scene.contacts is not None else words


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
