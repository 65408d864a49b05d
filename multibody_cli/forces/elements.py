"""The catalogue of force elements, the force elements of a model as one block of arrays, and the kernels over all.

To add a force element: a file with its `ELEMENT` (`forces.contract`), and its place in `ELEMENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.cables.lines import CablePoints
from multibody_cli.cables.moving import place_points, update_points, watch_points, write_dual_wrenches
from multibody_cli.forces import (
    body_drag,
    body_load,
    bushing,
    combination_spring,
    elastic_rope,
    euler_bushing,
    fluid,
    fluid_on_ellipsoid,
    joint_control,
    joint_spring,
    moving_load,
    muscle,
    quadratic_drag,
    rotation_spring,
    soft_limit,
    spring,
    tension,
)
from multibody_cli.forces.contract import (
    ForceElement,
    JointFields,
    SceneEntry,
    apply_force,
    implicit_joint_force,
)
from multibody_cli.forces.contract import elastic_energy as elastic_energy_of
from multibody_cli.forces.muscle_curves import CurveArrays
from multibody_cli.forces.quantities import QuantityCode, measure
from multibody_cli.kernel import (
    EachNonempty,
    Integers,
    bound_kernel,
    kernel,
    lazy_template,
    number_parameter,
)
from multibody_cli.kernel import Records as Records
from multibody_cli.signals import Signals, evaluate
from multibody_cli.spec import Spec

ELEMENTS: tuple[ForceElement, ...] = (
    joint_spring.ELEMENT,
    rotation_spring.ELEMENT,
    soft_limit.ELEMENT,
    joint_control.ACTUATORS,
    joint_control.ELEMENT,
    combination_spring.ELEMENT,
    moving_load.ELEMENT,
    body_load.ELEMENT,
    body_drag.ELEMENT,
    quadratic_drag.ELEMENT,
    fluid_on_ellipsoid.ELEMENT,
    fluid.ELEMENT,
    bushing.ELEMENT,
    euler_bushing.ELEMENT,
    spring.ELEMENT,
    elastic_rope.ELEMENT,
    muscle.ELEMENT,
    tension.ELEMENT,
)
"""Every force element, in the order in which forces are applied."""

PLACES = {element.name: place for place, element in enumerate(ELEMENTS)}
"""The place of each table in `Forces.tables`."""

SPRINGS, MUSCLES, CONTROLS, TENSIONS, ELASTIC_ROPES = (
    PLACES[name] for name in ("springs", "muscles", "controls", "tensions", "elastic_ropes")
)


# --- scene files ------------------------------------------------------------------------------------------------------
def _entries(section: str) -> list[SceneEntry]:
    return [element.entry for element in ELEMENTS if element.entry is not None and element.entry.section == section]


FORCES: dict[str, type[Spec]] = {entry.kind: entry.spec for entry in _entries("forces")}
"""Every kind of entry of `forces:`."""

FORCE_KEYS = {key: entry.kind for entry in _entries("forces") for key in entry.keys}
"""The field by which the kind of an entry is recognized."""

SPRING_KINDS: dict[str, type[Spec]] = {entry.kind: entry.spec for entry in _entries("springs")}
"""Every kind of entry of `springs:`."""

SPRING_KEYS = {key: entry.kind for entry in _entries("springs") for key in entry.keys}
"""The field by which the kind of an entry is recognized."""

_BY_SPEC = {element.entry.spec: element for element in ELEMENTS if element.entry is not None}


def element_of(spec: Spec) -> ForceElement:
    """Return the element that an entry of a scene describes."""
    return _BY_SPEC[type(spec)]


def elements_of_joint(joint: Any) -> list[tuple[ForceElement, JointFields]]:
    """Return the elements that the fields of a joint describe."""
    return [
        (element, element.joint) for element in ELEMENTS if element.joint is not None and element.joint.describe(joint)
    ]


# --- arrays -----------------------------------------------------------------------------------------------------------
class Forces(NamedTuple):
    """The force elements of a model."""

    signals: Signals
    points: CablePoints
    spans: Records  # of elastic ropes; the start, and evaluations of forces, write their angles
    terms: Records  # of all combinations with springs or dampers
    paths: Integers  # (k, 2) first point and end of each named path
    inputs: Integers  # (k,) signal of each input
    pairs: Integers  # (k, 2) rows of bodies that implicit elements couple
    quantities: Records  # of the state, that signals read
    curves: CurveArrays  # of muscles
    states: Records  # that integrators advance
    tables: tuple[Records, ...]  # one for each entry of `ELEMENTS`

    def table(self, element: ForceElement) -> Records:
        """Return the records of an element."""
        return self.tables[PLACES[element.name]]

    @property
    def has_body_stiffness_or_damping(self) -> bool:
        """Whether implicit integrators evaluate a force on bodies at the end of the step."""
        return any(len(self.table(element)) > 0 for element in ELEMENTS if element.implicit and element.acts_on_bodies)

    @property
    def depends_on_motion(self) -> bool:
        """Whether any force has a stiffness or a damping, on bodies or on coordinates of joints."""
        return any(len(self.table(element)) > 0 for element in ELEMENTS if element.implicit)

    @property
    def acts_on_bodies(self) -> bool:
        """Whether any force is a wrench on a body."""
        return any(len(self.table(element)) > 0 for element in ELEMENTS if element.acts_on_bodies)

    @property
    def reads_bodies(self) -> bool:
        """Whether a signal reads the motion of a body, or of a path."""
        kinds = self.quantities["kind"]
        return bool(np.any((kinds >= QuantityCode.POSITION) & (kinds < QuantityCode.TIME_FUNCTION)))

    @property
    def counts(self) -> dict[str, int]:
        """The number of elements by their description."""
        counts = dict.fromkeys((element.description for element in ELEMENTS), 0)
        for element, table in zip(ELEMENTS, self.tables, strict=True):
            counts[element.description] += len(table)
        return counts

    @property
    def implicit_bodies(self) -> Integers:
        """Rows of all bodies, ground and markers included, to which implicit elements apply wrenches."""
        elements = [element for element in ELEMENTS if element.implicit]
        rows = [self.table(element)[name] for element in elements for name in element.bodies]
        cables = [cable for element in elements if element.cable for cable in self.table(element)]
        rows += [self.points.entries["row"][cable["first"] : cable["last"]] for cable in cables]
        rows += [self.spans[end]["row"] for end in "ab"]
        return np.concatenate(rows)

    @property
    def sprung_coordinates(self) -> list[range]:
        """The coordinates of each spring or damper of a joint."""
        joints = [element for element in ELEMENTS if element.implicit and element.coordinates]
        return [range(iv, iv + element.coordinates) for element in joints for iv in self.table(element)["iv"].tolist()]


def coupled_pairs(tables: Iterable[Records], points: CablePoints, spans: Records) -> Integers:
    """Rows (k, 2) of moving bodies that implicit elements couple."""
    pairs: list[tuple[int, int]] = []
    for element, table in zip(ELEMENTS, tables, strict=True):
        for record in table if element.implicit and element.acts_on_bodies else ():
            rows = [int(record[name]) for name in element.bodies]
            pairs += pairwise([row for row in rows if row > 0])
            if element.cable:
                cable = range(int(record["first"]), int(record["last"]))
                entries = points.entries[cable.start : cable.stop]
                pairs += neighbors(entries)
                pairs += combinations(moved_by(points, cable, entries["row"].tolist()), 2)
            if element.spans:
                own = spans[int(record["first"]) : int(record["last"])]
                rows = [int(row) for row in (own["a"]["row"][0], *own["b"]["row"])]
                pairs += pairwise(row for row in rows if row > 0)
                pairs += combinations(moved_by(points, {*own["a"]["entry"], *own["b"]["entry"]}, rows), 2)
    return np.array(pairs, np.int64).reshape(-1, 2)


def neighbors(entries: Records) -> list[tuple[int, int]]:
    """Rows of moving bodies of a cable between which it has surfaces alone, which it may not touch."""
    moving = entries[entries["row"] > 0]
    rows, surfaces = moving["row"].tolist(), (moving["surface"] >= 0).tolist()
    return [(rows[i], rows[k]) for i, k in combinations(range(len(rows)), 2) if all(surfaces[i + 1 : k])]


def moved_by(points: CablePoints, entries: Collection[int], rows: Iterable[int]) -> list[int]:
    """Rows of moving bodies to which an element on `rows` applies wrenches, if some of its `entries` move in bodies."""
    moving = [motion for motion in points.motions if int(motion["entry"]) in entries and motion["address"]]
    of_joints = [int(motion[name]) for motion in moving for name in ("child", "parent")]
    return sorted({row for row in (*rows, *of_joints) if row > 0}) if moving else []


def warnings_for(forces: Forces) -> tuple[Integers, ...]:
    """Allocate the warnings of each table: bits for each record of an element that has warnings."""
    sizes = (len(table) if element.warnings else 0 for element, table in zip(ELEMENTS, forces.tables, strict=True))
    return tuple(np.zeros(size, np.int64) for size in sizes)


# --- kernels over all elements ----------------------------------------------------------------------------------------
PLACE = number_parameter("PLACE", int)
"""The place of an element in `Forces.tables`."""


# Each template runs over the table at PLACE.  Its kernels are lazy: a scene compiles those of its own elements.
@lazy_template(apply_force, PLACE)
def _apply_each(forces, t, q, v, work, powers, watched):
    table = forces.tables[PLACE]
    for k in range(len(table)):
        apply_force(table[k], forces, t, q, v, work.bodies, work.tau, powers, watched, work.warnings[PLACE], k)


@lazy_template(elastic_energy_of, PLACE)
def _energy_of_each(forces, q, bodies) -> float:
    table, energy = forces.tables[PLACE], 0.0
    for k in range(len(table)):
        energy += elastic_energy_of(table[k], forces, q, bodies)
    return energy


@lazy_template(implicit_joint_force, PLACE)
def _apply_each_implicitly(forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature):
    table = forces.tables[PLACE]
    for k in range(len(table)):
        implicit_joint_force(table[k], forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature)


def over(
    kernel_name: str,
    each: Any,
    elements: Iterable[ForceElement] = ELEMENTS,
    **constants: Callable[[ForceElement], Any],
) -> Any:
    """Return the calls of `each`, bound to the kernels of those `elements` that have one and to their `constants`."""
    chosen = {element.name for element in elements if getattr(element, kernel_name) is not None}

    def bound_to(element: ForceElement) -> Any:
        own = {kernel_name: getattr(element, kernel_name), "PLACE": PLACES[element.name]}
        return bound_kernel(each, **own, **{name: value_of(element) for name, value_of in constants.items()})

    return EachNonempty(bound_to(element) if element.name in chosen else None for element in ELEMENTS)


_apply_all: Any = over("apply_force", _apply_each)


@kernel
def apply_forces(forces, t, q, v, work, powers):
    """Apply all forces, and compute the powers (na,) of their accounts, W.

    Generalized forces go to `work.tau` (nv,), wrenches to the placed bodies.  Iterates of a stage raise no warnings.
    """
    if len(forces.points.motions) > 0:
        update_points(forces.points, q, v)
        write_dual_wrenches(forces.points, work.columns)
        if work.implicit_coefficients[1] >= 0.0:
            watch_points(forces.points, t)
    measure(forces.quantities, forces.points, forces.signals, t, q, v, work.bodies)
    for i in range(len(work.tau)):
        work.tau[i] = 0.0
    for i in range(len(powers)):
        powers[i] = 0.0
    _apply_all(forces.tables, forces, t, q, v, work, powers, work.implicit_coefficients[1] >= 0.0)


@kernel
def evaluate_signals(forces, numbers, t, q, v, bodies, values):
    """Compute the values (n,) of the signals `numbers` (n,) at a state."""
    if len(forces.points.motions) > 0:
        update_points(forces.points, q, v)
    measure(forces.quantities, forces.points, forces.signals, t, q, v, bodies)
    for i in range(len(numbers)):
        values[i], _, _ = evaluate(forces.signals, numbers[i], t)


def _energies(elements: Iterable[ForceElement]) -> Any:
    return over("elastic_energy", _energy_of_each, elements)


_SPRINGS_OF_JOINTS: Any = _energies(element for element in ELEMENTS if element.coordinates)
_CABLES: Any = _energies(element for element in ELEMENTS if element.cable or element.spans)
_OTHERS: Any = _energies(element for element in ELEMENTS if element.bodies)


@kernel
def elastic_energy(forces, q, bodies) -> float:
    """Elastic energy of all force elements, J."""
    if len(forces.points.motions) > 0:
        place_points(forces.points, q)
    tables = forces.tables
    of_cables, of_others = _CABLES(tables, forces, q, bodies), _OTHERS(tables, forces, q, bodies)
    return _SPRINGS_OF_JOINTS(tables, forces, q, bodies) + of_cables + of_others


_apply_all_implicitly: Any = over("implicit_joint_force", _apply_each_implicitly)


@kernel
def apply_implicit_joint_forces(forces, t, coefficients, exact, rates, tau, armature):
    """Apply the linearly implicit terms of springs and dampers of joints.

    Subtracts (displacement_factor K + velocity_factor D) rates from `tau` (nv,), and adds the diagonal of h D + h^2 K
    to `armature` (nv,).  `coefficients` (3,) hold h, s, and the two factors; `rates` (nv,) are coordinate rates.
    `exact` as in `forces.variation`; the change is that of `quantities.write_directions`.
    Source: Sueda, notes 2.5, (2.77), with K = -d tau/dq and D = -d tau/dv.
    """
    h, displacement_factor, velocity_factor = coefficients[0], coefficients[1], coefficients[2]
    _apply_all_implicitly(
        forces.tables, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature
    )
