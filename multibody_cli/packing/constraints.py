"""Packing of limits, couplings and constraints into the tables of `Constraints` and their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from graphlib import CycleError

from multibody_cli.constraints import KINDS, function, limit
from multibody_cli.constraints.contract import ConstraintSpec, Packed
from multibody_cli.constraints.elements import TablePacker
from multibody_cli.constraints.relation import TABLE, CouplingSpec, pack_relations, relations_of
from multibody_cli.escaping import path_component
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.model import RowName
from multibody_cli.packing.context import Context
from multibody_cli.packing.rows import Place, ReductionPacker, RowPacker
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec.combination import CombinationSpec


class CannotReduce(Exception):
    """A coupling that is no change of coordinates; its name, and the reason."""


def add_constraints(
    scene: SceneSpec, context: Context, rows: RowPacker, tables: TablePacker, reductions: ReductionPacker
) -> None:
    """Add all limits, couplings and constraints.

    Raises
    ------
    CannotReduce
        If a coupling with `reduce` cannot be a change of coordinates.
    """
    for name, joint in scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.bounds is not None:
            _add_limits(name, joint, context, rows, tables)
    reduced: list[tuple[str, CouplingSpec, Packed]] = []
    for section, entries in (("couplings", scene.couplings), ("constraints", scene.constraints)):
        for name, spec in entries.items():
            first = rows.next_row
            packed = _add_element(section, name, spec, context, rows, tables)
            if isinstance(spec, CouplingSpec) and spec.reduce:
                reduced.append((name, spec, packed))
            else:
                rows.spans[section, name] = first, rows.next_row
    for name, combination in scene.combinations.items():
        _add_limits_of_combination(name, combination, context, rows, tables)
    _reduce(reduced, context, reductions)


def _reduce(reduced: Sequence[tuple[str, CouplingSpec, Packed]], context: Context, reductions: ReductionPacker) -> None:
    """Make couplings changes of coordinates: functions, whose outputs are dependent, and then relations."""
    owners: dict[Place, str] = {}
    for name, spec, packed in reduced:
        if not spec.relations:
            output, inputs, address = function.map_of(packed.records)
            if not reductions.add_map(output, inputs, address):
                raise CannotReduce(name, "its output is prescribed, or that of another coupling")
            owners[output] = name
    for name, spec, packed in reduced:
        for relation, value in relations_of(packed.records) if spec.relations else ():
            if not reductions.add(relation, value):
                raise CannotReduce(name, "its coordinates are prescribed or already dependent")
            owners |= dict.fromkeys(relation, name)
    try:
        reductions.order()
    except CycleError as error:
        words = {context.coordinate(word): word for _, spec, _ in reduced for _, word in spec.coordinates}
        circle: list[Place] = error.args[1]
        path = ", ".join(f"`{words[place]}`" for place in circle[:-1])
        raise CannotReduce(owners[circle[0]], f"its coordinates depend on each other in a circle: {path}") from None


def _add_limits(name: str, joint: MovingJointSpec, context: Context, rows: RowPacker, tables: TablePacker) -> None:
    account = context.packer.account("dissipation", f"joints/{path_component(name)}/limits")
    for k, pair in enumerate(joint.bounds or ()):
        for bound, sign, words in zip(pair or (-math.inf, math.inf), (1.0, -1.0), ("lower", "upper"), strict=True):
            if math.isfinite(bound):
                term = rows.next_term
                row = rows.add(
                    RowName("joints", name, f"beyond its {words} limit"),
                    1,
                    one_sided=True,
                    account=account,
                    restitution=joint.restitution,
                )
                tables.add(limit.TABLE, [(0, 0, *context.coordinate(f"{name}/{k}"), bound, sign)], row, term)


def _add_limits_of_combination(
    name: str, spec: CombinationSpec, context: Context, rows: RowPacker, tables: TablePacker
) -> None:
    """Add a one-sided row s (sum c_k q_k + offset - bound) >= 0 for each finite limit."""
    if not spec.bounds:
        return
    account = context.packer.account("dissipation", f"combinations/{path_component(name)}/limits")
    for sign, bound in spec.bounds:
        relation = {word: sign * coefficient for word, coefficient in spec.terms.items()}
        row, term = rows.next_row, rows.next_term
        packed = pack_relations([(relation, sign * (bound - spec.offset))], context)
        rows.add(
            RowName("combinations", name, f"beyond its {'lower' if sign > 0.0 else 'upper'} limit"),
            len(relation),
            one_sided=True,
            account=account,
            restitution=spec.restitution,
        )
        tables.add(TABLE, packed.records, row, term)


def _add_element(
    section: str, name: str, spec: ConstraintSpec, context: Context, rows: RowPacker, tables: TablePacker
) -> Packed:
    kind = KINDS[spec.type]
    packed = kind.pack(spec, context)
    row, term = rows.next_row, rows.next_term
    cause = f"{section}/{path_component(name)}"
    account = context.packer.account(spec.account, cause) if spec.account else -1
    drive = context.packer.account("work", cause) if spec.is_driven else -1
    for shape in packed.rows:
        rows.add(
            RowName(section, name, shape.direction),
            shape.terms,
            holonomic=shape.holonomic,
            one_sided=spec.one_sided,
            account=account,
            drive=drive,
            restitution=shape.restitution,
            active=spec.active,
            is_written=spec.SLACKENS,
        )
    if spec.active or spec.SLACKENS:
        tables.add(kind.table, packed.records, row, term)
    return packed
