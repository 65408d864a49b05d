"""Guides of ropes with friction, and lengths of ropes, from the position at the start."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multibody_cli.cables.lines import CablePoints
from multibody_cli.cables.moving import place_points
from multibody_cli.cables.rope import LOOSE, follow, mark, move_ends
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints.capstan import GUIDE
from multibody_cli.constraints.elements import ROPES
from multibody_cli.errors import ArgumentError
from multibody_cli.forces.elements import ELASTIC_ROPES
from multibody_cli.forces.states import load_states, store_states
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Flags, records
from multibody_cli.model import Floats, Model, Records, State, System
from multibody_cli.packing.rows import RowPacker
from multibody_cli.tree.workspace import workspace_for

ROUND_OFF = 1e-12
"""Length of a straight part, relative to the coordinates of its points, that is round-off."""


class PackedGuides(Immutable, eq=False):
    """Guides with friction, the names of their ropes, and a body that each acts on."""

    table: Records
    names: tuple[str, ...]
    moved: tuple[int, ...]


def pack_guides(spans: Records, rows: RowPacker, points: CablePoints) -> PackedGuides:
    """Return the guides with friction along the spans of ropes and belts, in their order."""
    table, section = [], spans["first_row"]
    entries = np.stack([spans["a"]["entry"], spans["b"]["entry"]], axis=1)
    bodies = np.stack([spans["a"]["row"], spans["b"]["row"], np.zeros(len(spans), int)], axis=1)
    last_terms = spans["first_term"] + (bodies > 0).sum(axis=1) + (entries >= 0).sum(axis=1)
    for motion in points.motions:  # a rope may act on joints alone
        bodies[(entries == motion["entry"]).any(axis=1), 2] = max(motion["child"], motion["parent"])
    for k in np.flatnonzero(spans["friction"]):
        first, *_, last = np.flatnonzero(section == section[k])
        terms = (spans["first_term"][first], spans["first_term"][k], last_terms[last])
        own = (spans[name][k] for name in ("share", "friction", "pretension"))
        table.append((k, first, last + 1, section[k], *terms, *own))
    moved = tuple(int(bodies[one[1] : one[2]].max()) for one in table)
    return PackedGuides(records(np.array(table, GUIDE)), tuple(rows.names[one[3]].element for one in table), moved)


def ropes_of(system: System) -> Records:
    """Return the spans of all ropes and belts of a system."""
    return system.constraints.tables[ROPES]


def without_ropes(system: System) -> System:
    """Return the system in which ropes and belts do not act."""
    tables = list(system.constraints.tables)
    tables[ROPES] = tables[ROPES][:0]
    return system._replace(constraints=system.constraints._replace(tables=tuple(tables)))


def mark_ropes(system: System, spans: Records, q: Floats, v: Floats, time: float = 0.0) -> Flags:
    """Write the material of ropes and the references of their angles at the start, in place, once.

    Parameters
    ----------
    system, spans
        The system, and the spans of the ropes.
    q, v, time
        (nq,) and (nv,) the start, in which all else is assembled, and its time, s.

    Returns
    -------
    Flags
        (n,) the spans whose ends coincide at the start, in a section that has no slack.
    """
    work, placed, least = workspace_for(system), q.copy(), np.full(len(spans), np.nan)
    update_kinematics(system, time, placed, v.copy(), np.zeros_like(v), work)
    place_points(system.forces.points, placed)
    move_ends(spans, system.forces.points)
    mark(spans, work.bodies, placed, least)
    places = work.bodies["x"], spans["a"]["centre"], spans["b"]["centre"]
    reach = max(system.tree.length, *(np.abs(one).max() for one in places))
    return np.asarray(least <= ROUND_OFF * reach)


def copy_marks(system: System, marked: System) -> None:
    """Copy the material and references of ropes from the same scene in another layout, in place.

    A rope that acts in one of both alone keeps its own material.
    """
    for spans, others in (
        (ropes_of(system), ropes_of(marked)),
        (system.forces.spans, marked.forces.spans),
    ):
        same = _are_loose(spans) == _are_loose(others)
        spans["made"][same] = others["made"][same]
        for end in "ab":
            spans[end]["reference"] = others[end]["reference"]


def fasten_ropes(model: Model, earlier: Model, state: State, slack: Mapping[int, float]) -> None:
    """Copy the material and references of ropes from the model before an event, and mark those that begin to act.

    Parameters
    ----------
    model, earlier, state
        The model behind the event, that before it, and the state there; the ropes of the model are marked in place.
    slack
        Slack of each section, m, by its row.
    """
    spans, before = ropes_of(model.system), ropes_of(earlier.system)
    copy_marks(model.system, earlier.system)
    begins = _are_loose(before) & ~_are_loose(spans)
    if not begins.any():
        return
    starts = begins & (spans["starts_row"] == 1)
    spans["made"][begins] = 0.0
    spans["made"][starts] = [slack.get(row, 0.0) for row in spans["first_row"][starts].tolist()]
    for end in (spans["a"][begins], spans["b"][begins]):
        on_pulley = end["radius"] > 0.0
        state.z[end["state"][on_pulley]] = 0.0
        state.z[end["state"][on_pulley & (end["slides"] == 0)] + 1] = 0.0
    fastened = spans[begins]
    mark_ropes(model.system, fastened, state.q, state.v, float(state.time[0]))
    spans[begins] = fastened


def _are_loose(spans: Records) -> Flags:
    """Return which spans (n,) are those of ropes that do not act."""
    first = np.searchsorted(spans["first_row"], spans["first_row"])
    return np.asarray(spans["made"][first] > 0.5 * LOOSE)


PARTS, LARGEST_PART = 8, 0.3
"""Number of parts of a change of coordinates, and its largest part beyond them, rad or m."""


UNCERTAIN_TURNS = (
    "the change of `q` turns an end of it by 0.45 turns at once, or takes it off a pulley by as much, so that its "
    "whole turns are uncertain: change `q` in smaller parts, with a channel after each"
)
"""Cause and remedy."""


def follow_ropes(model: Model, state: State, before: Floats) -> None:
    """Count the turns of ropes along the straight way of the coordinates to a state, in place.

    Parameters
    ----------
    model, state
        The model, and its state, of which `z` is moved.
    before
        (nq,) the coordinates before, or none if they are unknown: then the nearest turns count.

    Raises
    ------
    ArgumentError
        The whole turns of a rope are uncertain; nothing is moved.
    """
    spans, elastic = ropes_of(model.system), model.system.forces.spans
    if len(spans) + len(elastic) == 0 or np.array_equal(before, state.q):
        return
    states, work = model.system.forces.states.copy(), workspace_for(model.system)
    start = before if len(before) else state.q
    change = state.q - start
    parts, lost = PARTS + int(np.abs(change).max() / LARGEST_PART), (-1, -1)
    load_states(states, state.z)
    for k in range(1, parts + 1):
        placed = start + (k / parts) * change
        update_kinematics(model.system, state.time[0], placed, state.v.copy(), np.zeros_like(state.v), work)
        place_points(model.system.forces.points, placed)
        move_ends(spans, model.system.forces.points)
        move_ends(elastic, model.system.forces.points)
        lost = follow(spans, states, work.bodies, placed), follow(elastic, states, work.bodies, placed)
    if lost[0] >= 0:
        name = model.names.rows[spans[lost[0]]["first_row"]]
        raise ArgumentError(f"{name.section}.{name.element}: {UNCERTAIN_TURNS}")
    if lost[1] >= 0:
        ropes = model.system.forces.tables[ELASTIC_ROPES]
        [k] = ropes["account"][(ropes["first"] <= lost[1]) & (lost[1] < ropes["last"])]
        raise ArgumentError(f"{model.names.accounts[k].cause.replace('/', '.', 1)}: {UNCERTAIN_TURNS}")
    store_states(states, state.z)
    load_states(model.system.forces.states, state.z)
