"""Rows of the elements of a scene in the arrays of a model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.forces.elements import CONTROLS, ELEMENTS, TENSIONS
from multibody_cli.kernel import records
from multibody_cli.model import Account, Floats, Integers, Model, Records, SceneNames
from multibody_cli.output.channels import CHANNELS, FILES
from multibody_cli.output.elements import EXPANSIONS
from multibody_cli.tree.markers import bodies_of_rows

SOURCE = np.dtype(
    [
        ("first", "i8"),  # bodies on which it acts, in `ElementRows.targets`
        ("last", "i8"),
        ("first_record", "i8"),  # its records, in `ElementRows.records`
        ("last_record", "i8"),
        ("first_row", "i8"),  # its constraint rows
        ("last_row", "i8"),
    ]
)
"""One row per element that acts on bodies."""

OFFSET = np.dtype([("r", "f8", 3)])
"""From the origin of the body frame to that of the joint frame, in the body frame."""


class ElementRows(NamedTuple):
    """Rows of bodies and joints, the number of the body of each row, and the rows of other elements."""

    bodies: Integers  # (nb,)
    joints: Integers  # (nj,) of the child, or of the loop frame
    numbers: Integers  # (rows of the tree,) -1 for the world
    actuators: Integers  # (forces of actuators,) numbers of signals; -1 - k for command k
    activations: Integers  # (filtered actuators,) numbers of signals
    sensors: Records  # of `FIXED_FRAME`
    points: Records
    combinations: Integers  # (n, 3) signals
    sources: Records  # of `SOURCE`
    targets: Integers  # (n,) rows of the bodies on which they act
    offsets: Records  # (n,) of `OFFSET`
    brakes: Integers  # (n, 2) range of each brake of a combination or path in `targets`; empty for a combination
    guides: Integers  # (n, 2) that of the rope of each guide with friction
    records: Integers  # (k, 2) places and numbers of their records in the tables of forces
    bushings: Records  # of `FIXED_FRAME`, on the children
    of_bushings: Integers  # (n, 2) which of `targets` has the wrench, and the sign with which it acts on the child
    powers: Floats  # (na,) of accounts, which are not read
    observed: tuple[Integers, ...]  # places in `channels.CHANNELS` of those that come from each of `channels.FILES`


def element_rows(model: Model) -> ElementRows:
    """Return the rows of a model, in the order of the scene."""
    names = model.names
    numbers = np.full(len(model.system.tree.links), -1)
    numbers[names.body_rows] = np.arange(len(names.body_rows))
    numbers = numbers[bodies_of_rows(model.system.tree)]
    joints = np.array([joint.row for joint in names.joints], dtype=np.int64)
    actuators = np.array(list(_actuator_rows(model)), dtype=np.int64)
    own = model.activations, model.sensors, model.points, model.combinations
    rows = dict(zip(names.bodies, names.body_rows.tolist(), strict=True))
    sources, found = _sources(model)
    return ElementRows(
        names.body_rows,
        joints,
        numbers,
        actuators,
        *own,
        sources=sources,
        targets=np.array([rows[body] for _, body in names.wrenches], np.int64),
        offsets=_offsets(model, [rows[body] for _, body in names.wrenches]),
        brakes=_targets_of(names, [f"{section}/{path_component(name)}" for section, name in names.brakes]),
        guides=_targets_of(
            names,
            [
                f"constraints/{path_component(rope.name)}"
                for rope in names.friction_ropes
                for _ in range(rope.columns.start, rope.columns.stop)
            ],
        ),
        records=found,
        bushings=model.bushings,
        of_bushings=_of_bushings(model, rows),
        powers=np.zeros(len(names.accounts)),
        observed=_observed(names),
    )


def _observed(names: SceneNames) -> tuple[Integers, ...]:
    """Return the places of the channels of a model by the file of `observation` from which they come."""
    readers = [one.reader if EXPANSIONS[one.expansion].items(names) else None for one in CHANNELS]
    return tuple(np.array([k for k, one in enumerate(readers) if one == file], np.int64) for file in FILES)


def _sources(model: Model) -> tuple[Records, Integers]:
    """Return the elements that act on bodies, rows of `SOURCE`, and the places and numbers (k, 2) of their records."""
    names, tables = model.names, model.system.forces.tables
    records_of: dict[str, list[tuple[int, int]]] = {}
    for place, element in enumerate(ELEMENTS):
        if element.acts_on_bodies:
            for number, account in enumerate(tables[place]["account"].tolist()):
                records_of.setdefault(names.accounts[account].cause, []).append((place, number))
    behind = len(model.system.tree.constraint_axes)
    rows_of = {
        f"{entry.section}/{path_component(entry.name)}": (behind + entry.rows.start, behind + entry.rows.stop)
        for entry in names.constraint_entries
    }
    sources: list[tuple[int, ...]] = []
    found: list[tuple[int, int]] = []
    first = 0
    for cause, pairs in groupby(names.wrenches, key=itemgetter(0)):
        last, own = first + len(list(pairs)), records_of.get(cause, [])
        sources.append((first, last, len(found), len(found) + len(own), *rows_of.get(cause, (0, 0))))
        found, first = [*found, *own], last
    return records(np.array(sources, SOURCE)), np.array(found, np.int64).reshape(-1, 2)


def _offsets(model: Model, rows: list[int]) -> Records:
    """Return the offsets of bodies, rows of `OFFSET`."""
    frames = model.system.tree.frames[rows]
    inverse = [frame.reshape(3, 3) for frame in frames["frame"]]  # stored by columns
    return records(np.array([(-(R @ origin),) for R, origin in zip(inverse, frames["origin"], strict=True)], OFFSET))


def _targets_of(names: SceneNames, causes: list[str]) -> Integers:
    """Return the range of each cause in the bodies on which elements act, (n, 2)."""
    own = [cause for cause, _ in names.wrenches]
    found = [(own.index(cause), own.index(cause) + own.count(cause)) if cause in own else (0, 0) for cause in causes]
    return np.array(found, np.int64).reshape(-1, 2)


def _of_bushings(model: Model, rows: dict[str, int]) -> Integers:
    """Return which wrench is that of each bushing, and the sign with which it acts on the child."""
    found = []
    for name, frame in zip(model.names.bushings, model.bushings, strict=True):
        own = {
            rows[body]: k
            for k, (cause, body) in enumerate(model.names.wrenches)
            if cause == f"springs/{path_component(name)}"
        }
        child = int(frame["row"])
        found.append((own[child], 1) if child in own else (next(iter(own.values())), -1))
    return np.array(found, np.int64).reshape(-1, 2)


def _actuator_rows(model: Model) -> Iterator[int]:
    tables, commands = model.system.forces.tables, model.system.commands
    number = {account: k for k, account in enumerate(model.names.accounts)}
    for actuator in model.names.actuators:
        account = number[Account("work", f"actuators/{path_component(actuator.name)}")]
        found = [
            int(k) for one in (CONTROLS, TENSIONS) for k in tables[one]["signal"][tables[one]["account"] == account]
        ]
        yield from found[: len(actuator.coordinates)]  # those of a combination have the same force
        yield from (-1 - np.flatnonzero(commands["account"] == account)).tolist()
