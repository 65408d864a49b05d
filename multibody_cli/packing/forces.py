"""Force elements and prescribed motions as the arrays `Forces` and `Motions`, with their accounts in the ledger."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.cables.rope import SPAN
from multibody_cli.escaping import path_component
from multibody_cli.forces import combination_spring, joint_control, tension
from multibody_cli.forces.combination_spring import TERM
from multibody_cli.forces.contract import ForceElement, JointPackingContext, RotationCoordinates, ScalarCoordinate
from multibody_cli.forces.elements import ELEMENTS, PLACES, Forces, coupled_pairs, element_of, elements_of_joint
from multibody_cli.forces.muscle import MuscleSpec
from multibody_cli.forces.muscle_curves import CurvePacker
from multibody_cli.forces.states import STATE
from multibody_cli.joints.contract import JointStart, Part, PartCode, numbers_of
from multibody_cli.joints.motion import ACCELERATION, MOTION, POSITION, VELOCITY, Motions
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.kernel import frozen, records
from multibody_cli.model import Account
from multibody_cli.packing.cables import CablePacker
from multibody_cli.packing.excitation import follow_excitation
from multibody_cli.packing.quantities import (
    Axis,
    Combination,
    CoordinateReference,
    PathReference,
    QuantityPacker,
    combination_of,
)
from multibody_cli.packing.signals import SignalPacker
from multibody_cli.spec import NamedPoints, SignalSpec, Spec
from multibody_cli.spec.combination import CombinationSpec
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.table_function import TableFunctionSpec

_GIVEN = {"position": POSITION, "velocity": VELOCITY, "acceleration": ACCELERATION}


class ForcePacker:
    """Collects force elements and prescribed motions; each of them opens an account.

    `points` are the named points of bodies, `combinations` those of coordinates, `inputs` and `functions` those of the
    scene, which expressions may read.
    """

    def __init__(
        self,
        points: NamedPoints,
        combinations: Mapping[str, CombinationSpec],
        inputs: Mapping[str, SignalSpec],
        functions: Mapping[str, TableFunctionSpec],
    ) -> None:
        self.accounts: list[Account] = []
        self._signals = SignalPacker(inputs, functions)
        self._inputs = np.array([self._signals.add_input(name) for name in inputs], np.int64)
        self._records: tuple[list[tuple[Any, ...]], ...] = tuple([] for _ in ELEMENTS)
        self._terms: list[tuple[int, int, float]] = []
        self.cables = CablePacker()
        self.spans: list[tuple[Any, ...]] = []
        self.paths: dict[str, tuple[int, int]] = {}
        """The entries of each named path, a range of those of `Forces.points`."""
        self._motions: list[tuple[int, ...]] = []
        self.curves = CurvePacker()
        self.state_count = 0
        self.quantities = QuantityPacker(points, {name: combination_of(spec) for name, spec in combinations.items()})

    def add_joint(
        self, name: str, spec: MovingJointSpec, parts: Sequence[Part], start: JointStart, row: int, iq: int, iv: int
    ) -> None:
        """Add the forces and the prescribed motion of a joint whose numbers begin at iq and iv.

        A joint that is not active has no forces, but it keeps their accounts.
        """
        context = self._joint_context(name, parts, start, iq, iv)
        for scalar in context.scalars:
            self.quantities.places[CoordinateReference(name, scalar.place)] = scalar.iq, scalar.iv
        for rotation in context.rotations:
            for k in range(3):
                self.quantities.places[CoordinateReference(name, rotation.place + k)] = -1, rotation.iv + k
        for element, fields in elements_of_joint(spec):
            account = self.account(element.account, f"joints/{path_component(name)}/{fields.cause}")
            for record in fields.pack(spec, context) if spec.active else ():
                self._add(element, (*record, account))
        if spec.motion is not None:
            account = self.account("work", f"joints/{path_component(name)}/motion")
            for k, (prescribed, place) in enumerate(zip(spec.motion.signals, numbers_of(parts), strict=True)):
                if prescribed is not None:
                    # a table of positions is `cubic` or `pchip`: it also determines velocities and accelerations
                    number = self.signal(prescribed)
                    self._motions.append((iq + place, iv + k, _GIVEN[spec.motion.given], number, row, account))

    def add(self, section: str, name: str, spec: Spec, context: PackingContext) -> None:
        """Add an entry of `forces:`, `springs:` or `muscles:`."""
        element = element_of(spec)
        assert element.entry is not None
        account = self.account(element.account, f"{section}/{path_component(name)}")
        self._add(element, (*element.entry.pack(spec, context), account))

    def add_control(
        self,
        account: int,
        of: Axis,
        body: ast.expr,
        quantities: Mapping[str, int],
        tables: Mapping[str, int],
    ) -> int:
        """Add a force along an axis; return the number of its signal: see `expression`."""
        if isinstance(of, CoordinateReference):
            record = self._control(of, body, quantities, tables)
            self._add(joint_control.ELEMENT, (*record, account))
            return int(record[1])
        number = self.expression(body, quantities, tables)
        if isinstance(of, PathReference):
            self._add(tension.ELEMENT, (*self.paths[of.path], number, -1.0, account))
            return number
        for term, coefficient in of.terms:
            iv = self.quantities.places[term][1]
            self._add(joint_control.ELEMENT, (iv, number, -1, -1, coefficient, account))
        return number

    def add_combination_spring(self, own: Combination, spec: CombinationSpec, account: int) -> None:
        """Add the energy of the spring and the loss of the damper of a combination."""
        first = len(self._terms)
        self._terms += [(*self.quantities.places[of], coefficient) for of, coefficient in own.terms]
        numbers = (own.offset, spec.stiffness, spec.damping, *spec.rest)
        self._add(combination_spring.ELEMENT, (self._terms[first][1], first, len(self._terms), *numbers, account))

    def expression(self, body: ast.expr, quantities: Mapping[str, int], tables: Mapping[str, int]) -> int:
        """Add an expression, with the numbers of its quantities and tables; its number."""
        return self._signals.add_expression(body, quantities, tables)

    def table(self, arguments: Sequence[float], values: Sequence[float]) -> int:
        """Add a piecewise linear function; its number."""
        return self._signals.add_table(np.array(arguments), np.array(values), "linear", of_time=False)

    def pack(self, bodies: PackingContext | None = None) -> tuple[Forces, Motions]:
        """Return the arrays of everything that was added; `bodies` are those that expressions may read."""
        signals = self._signals.pack(len(self.quantities))
        tables = tuple(
            records(np.array(rows, dtype=element.dtype)) for element, rows in zip(ELEMENTS, self._records, strict=True)
        )
        points = self.cables.pack()
        quantities = self.quantities.pack(bodies, self.paths)
        terms = records(np.array(self._terms, TERM))
        paths, inputs = frozen(np.array([*self.paths.values()], np.int64).reshape(-1, 2)), frozen(self._inputs)
        spans = records(np.array(self.spans, SPAN))
        pairs = coupled_pairs(tables, points, spans)
        curves = self.curves.pack()
        states = np.zeros(self.state_count, STATE).view(np.recarray)
        states["account"] = -1
        for table in tables:
            if "stored" in (table.dtype.names or ()):
                kept = table[table["stored"] >= 0]
                states["account"][kept["stored"]] = kept["account"]
        forces = Forces(signals, points, spans, terms, paths, inputs, pairs, quantities, curves, states, tables)
        return forces, Motions(records(np.array(self._motions, MOTION)), signals)

    @property
    def input_places(self) -> dict[str, tuple[int, ...]]:
        """Where the value of each input that is a number stands among the operands of the signals."""
        return {name: tuple(places) for name, places in self._signals.input_places.items()}

    def account(self, kind: Any, cause: str) -> int:
        """Open an account of the ledger, unless it is open; its number."""
        account = Account(kind, cause)
        if account not in self.accounts:
            self.accounts.append(account)
        return self.accounts.index(account)

    def signal(self, spec: SignalSpec) -> int:
        """Add a function of time, or of the state of bodies and joints; its number."""
        if spec.constant is not None:
            return self._signals.add_constant(spec.constant)
        if spec.expression is not None:
            return self._signals.add_expression(*self.quantities.bound(spec.expression, None))
        return self._signals.add_table(np.array(spec.times), np.array(spec.values), spec.interpolation)

    def activation(self, spec: MuscleSpec, duration: float) -> int:
        """Add the activation of a muscle over a run of this duration, s; its number."""
        if spec.activation is not None:
            return self.signal(spec.activation)
        assert spec.excitation is not None
        return self._signals.add_hermite(*follow_excitation(spec, duration), corners=spec.excitation.times)

    def _add(self, element: ForceElement, record: tuple[Any, ...]) -> None:
        self._records[PLACES[element.name]].append(record)

    def _control(
        self, own: CoordinateReference, body: ast.expr, quantities: Mapping[str, int], tables: Mapping[str, int]
    ) -> tuple[Any, ...]:
        number = self._signals.add_expression(body, quantities, tables)
        return self.quantities.places[own][1], number, *self.quantities.own(quantities, own), 1.0

    def _joint_context(
        self, name: str, parts: Sequence[Part], start: JointStart, iq: int, iv: int
    ) -> JointPackingContext:
        scalars: list[ScalarCoordinate] = []
        rotations: list[RotationCoordinates] = []
        i = j = 0
        for part in parts:
            quaternions = part.nq - part.nv
            for _ in range(part.nv - 3 * quaternions):
                scalars.append(ScalarCoordinate(j, iq + i, iv + j, start.rest[i]))
                i, j = i + 1, j + 1
            if quaternions:
                outer = part.code == PartCode.BALL
                rotations.append(RotationCoordinates(j, iq + i, iv + j, tuple(start.rest[i : i + 4]), outer))
                i, j = i + 4, j + 3

        def control(k: int, spec: SignalSpec) -> tuple[Any, ...]:
            assert spec.expression is not None
            own = CoordinateReference(name, k)
            return self._control(own, *self.quantities.bound(spec.expression, own), {})

        def measured(k: int) -> tuple[int, int]:
            own = CoordinateReference(name, k)
            return self.quantities.coordinate(own), self.quantities.rate(own)

        return JointPackingContext(iv, scalars, rotations, self.signal, control, measured)
