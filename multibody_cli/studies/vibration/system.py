"""Linear system dx/dt = A x + B u, y = C x + D u of a scene about a state, with names.

The states are independent coordinates and rates: as many as the motion has, chosen so that all others follow from them
best.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from multibody_cli.errors import ArgumentError, UnknownName, nearest
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.kernel import Floats, Integers
from multibody_cli.model import Model
from multibody_cli.output.state_observer import Observer
from multibody_cli.packing.applied_forces import with_applied_forces
from multibody_cli.packing.drives import with_drives
from multibody_cli.studies.inverse.coordinates import Coordinates
from multibody_cli.studies.linearization import Input, linearize, remarks_of
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.vibration.modes import exponents_of
from multibody_cli.studies.vibration.subject import Subject

DRIVE = "drive/"
"""Beginning of the names of inputs that are drives."""


class LinearSystem(Immutable, eq=False):
    """A linear system.

    Parameters
    ----------
    A, B, C, D
        (n, n), (n, m), (r, n) and (r, m), in SI units.
    states
        Names: `q/hinge` is the deviation of a coordinate, `v/hinge` that of its rate; those of drives follow.
    inputs
        Names: `force/hinge` is an applied force, `inputs/gas` an input of the scene, `drive/lift` the acceleration of a
        prescribed coordinate in addition to that of its motion.
    outputs
        Names: channels, with their component.
    time
        The instant, s.
    remarks
        The elements that the system leaves out.
    exponents
        (n,) eigenvalues of A, 1/s; 0 where errors may have caused them.
    derivatives
        `exact` by dual numbers, or `differences`.
    differences
        Why they are differences; "" if they are exact.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    time: float
    remarks: tuple[str, ...]
    exponents: Complex
    derivatives: Literal["exact", "differences"]
    differences: str

    def response(self, s: NDArray[np.complexfloating]) -> Complex:
        """Return G = C (s I - A)^-1 B + D (f, r, m) at f complex rates s (f,), 1/s: at i w, the frequency response."""
        at = np.asarray(s, np.complex128)[:, None, None] * np.eye(len(self.A)) - self.A
        return np.asarray(self.C @ np.linalg.solve(at, np.broadcast_to(self.B, (len(at), *self.B.shape))) + self.D)


def linear_system(
    prepared: PreparedSimulation, subject: Subject, inputs: Sequence[str] = (), outputs: Sequence[str] = ()
) -> LinearSystem:
    """Linearize a scene about a state.

    Parameters
    ----------
    prepared, subject
        The scene, and the state.
    inputs
        Names of the inputs; by default, all but drives, each of which adds two states.
    outputs
        Channels; by default the coordinates among the states.

    Raises
    ------
    ArgumentError
        A name does not exist, or the motion cannot be linearized.
    """
    names = Coordinates(prepared.scene, subject.model)
    state, driven = subject.state.copy(), _drives(prepared, names, inputs)
    motions = prepared.compiled.model.system.motions.rows
    system, places_of_drives = with_drives(subject.model.system, state, motions, [*driven.values()])
    actuated = with_applied_forces(replace(subject.model, system=system))
    model = actuated.model
    state = subject.state.copy()._replace(ledger=np.zeros(len(model.names.accounts)))
    of_forces = ((names.by_index(int(iv)).name, k) for k, iv in enumerate(actuated.columns))
    known = [
        *(Input(f"force/{name}", actuated.forces, (k,)) for name, k in of_forces),
        *(Input(f"inputs/{name}", model.system.forces.signals.operand, at) for name, at in model.inputs.items()),
    ]
    chosen = [_named(known, name) for name in inputs if name not in driven] or ([] if inputs else known)
    levels = [Input("", model.system.forces.signals.operand, (one,)) for one in places_of_drives.T.ravel().tolist()]
    measured = _Channels(prepared.with_compiled(model=model), subject, outputs)
    linear = linearize(model, state, [*chosen, *levels], measured, partial(_independent_states, model))
    places, rates = _independent(model, linear.position_basis), _independent(model, linear.basis)
    A, B, C, D = linear.A, linear.B, linear.C, linear.D
    letters = ("q", places), ("v", rates)
    states = tuple(f"{letter}/{names.by_index(int(iv)).name}" for letter, own in letters for iv in own)
    measures = tuple(measured.names)
    if not outputs:
        C, D, measures = np.eye(len(places), len(A)), np.zeros((len(places), B.shape[1])), states[: len(places)]
    exponents, _ = exponents_of(A, linear.errors)
    if driven:
        A, B, C, D = _with_states_of_drives(A, B, C, D, len(driven))
        own = tuple(name.removeprefix(DRIVE) for name in driven)
        states += tuple(f"{letter}/{name}" for letter in "qv" for name in own)
        exponents = np.append(exponents, np.zeros(2 * len(driven)))
    given, remarks = (*(one.name for one in chosen), *driven), (*subject.remarks, *remarks_of(model, linear))
    order = [given.index(name) for name in inputs or given]
    by: Literal["exact", "differences"] = "differences" if linear.differences else "exact"
    return LinearSystem(
        A,
        B[:, order],
        C,
        D[:, order],
        states,
        tuple(inputs or given),
        measures,
        float(state.time[0]),
        remarks,
        exponents,
        by,
        linear.differences,
    )


def _drives(prepared: PreparedSimulation, names: Coordinates, inputs: Sequence[str]) -> dict[str, int]:
    """Return the coordinates of the drives among the inputs, by the names of these."""
    moved = set(prepared.compiled.model.system.motions.rows["iv"].tolist())
    own = {f"{DRIVE}{one.name}": one.iv for one in names.all if one.iv in moved and one.is_plain}
    for name in inputs:
        if name.startswith(DRIVE) and name not in own:
            raise ArgumentError(f"--input {name}: no such drive: {nearest(name, [*own])}")
    return {name: own[name] for name in dict.fromkeys(inputs) if name in own}


def _with_states_of_drives(A: Floats, B: Floats, C: Floats, D: Floats, count: int) -> tuple[Floats, ...]:
    """Return the system in which positions and rates of drives are states, and their accelerations inputs.

    The last inputs are, of all drives, the positions, the rates, and halves of the accelerations.
    """
    n, m = len(A), B.shape[1] - 3 * count
    ends = (m, m + count, m + 2 * count)
    (B, Bq, Bv, Ba), (D, Dq, Dv, Da) = np.split(B, ends, axis=1), np.split(D, ends, axis=1)
    one, none = np.eye(count), np.zeros((count, count))
    below = np.zeros((count, n))
    return (
        np.block([[A, Bq, Bv], [below, none, one], [below, none, none]]),
        np.block([[B, 0.5 * Ba], [np.zeros((count, m)), none], [np.zeros((count, m)), one]]),
        np.block([C, Dq, Dv]),
        np.block([D, 0.5 * Da]),
    )


def _named(known: Sequence[Input], name: str) -> Input:
    found = next((one for one in known if one.name == name), None)
    if found is None:
        raise ArgumentError(f"--input {name}: no such input: {nearest(name, [one.name for one in known])}")
    return found


def _independent(model: Model, basis: Floats) -> Integers:
    """Return the coordinates (k,) from which the columns of a basis (n, k) follow best."""
    weights = model.system.tree.weights[: len(basis), None]
    _, _, order = qr((basis * weights).T, pivoting=True, mode="economic")
    return np.sort(order[: basis.shape[1]])


def _independent_states(model: Model, P: Floats, N: Floats) -> tuple[Floats, Floats]:
    """Return the rows that select the independent coordinates and rates."""
    each = np.eye(len(P))
    return each[_independent(model, P)], each[_independent(model, N)]


class _Channels:
    """The values of channels, and their names."""

    def __init__(self, simulation: PreparedSimulation, subject: Subject, paths: Sequence[str]) -> None:
        model = simulation.compiled.model
        self._paths, self.names = paths, list[str]()
        if paths:
            state = subject.state.copy()._replace(ledger=np.zeros(len(model.names.accounts)))
            method, held = simulation.method_for(state), model.system.forces.signals.quantities
            values = held.copy()
            report = method.start(state)
            held[:] = values  # of the last sample, which may be before this instant
            self._observer = Observer(model, method)
            self._observer.observe(state, report)
            for path in paths:
                values = self._value(path)
                labels = self._observer.labels(path) or tuple(map(str, range(values.size)))
                self.names += [path] if values.size == 1 else [f"{path}[{label}]" for label in labels]

    def __call__(self, system: Any, state: Any, work: Any) -> Any:
        """Return the values (r,) of an evaluated state, whose numbers may be dual."""
        if not self._paths:
            return np.zeros(0)
        self._observer.observe_beside(system, state, work)
        return np.concatenate([np.ravel(self._value(path)) for path in self._paths])

    def _value(self, path: str) -> Floats:
        try:
            return np.asarray(self._observer.value(path))
        except UnknownName as error:
            raise ArgumentError(f"--output {path}: {error}") from None
