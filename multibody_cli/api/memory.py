"""The memory of a simulation: q and v side by side, and their parts by the names of joints and of free bodies."""

from __future__ import annotations

import numpy as np

from multibody_cli.model import Floats, Model, State


def fresh_state(initial: State, model: Model) -> tuple[Floats, State]:
    """Return an initial state with the ledger of a model, and the memory of its q and v side by side."""
    memory = np.concatenate([initial.q, initial.v])
    q, v = memory[: model.nq], memory[model.nq :]
    return memory, initial._replace(q=q, v=v, ledger=np.zeros(len(model.names.accounts)))


def read_only(array: Floats) -> Floats:
    """Return a view that cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def places_by_name(model: Model) -> tuple[dict[str, slice], dict[str, slice], frozenset[str]]:
    """Return the parts of q and of v by name, and the names whose coordinates follow from others or from time."""
    system, names = model.system, model.names
    positions = {joint.name: joint.positions for joint in names.joints if len(joint.coordinates)}
    columns = {joint.name: joint.columns for joint in names.joints if len(joint.coordinates)}
    follows = np.array(system.tree.driven)
    follows[system.tree.links["nv"].sum() :] = True
    follows[system.reductions.dependents["iv"]] = True
    fixed = frozenset(name for name, place in columns.items() if follows[place].all())
    inboard = {joint.row for joint in names.joints}
    for body, row in zip(names.bodies, names.body_rows.tolist(), strict=True):
        if row not in inboard:
            name = body if body not in columns else f"bodies/{body}"
            positions[name], columns[name] = _of_free_body(model, row)
    return positions, columns, fixed


def _of_free_body(model: Model, row: int) -> tuple[slice, slice]:
    """Return the parts of q and of v of a body without inboard joint, which may have several rows."""
    names, links = model.names, model.system.tree.links
    later = names.body_rows[names.body_rows > row]
    if len(later):
        end = links[int(later.min())]
        ends = int(end["iq"]), int(end["iv"])
    else:
        loops = [joint.positions.start for joint in names.joints if joint.row >= len(links)]
        ends = min(loops, default=model.nq), int(links["nv"].sum())
    return slice(int(links[row]["iq"]), ends[0]), slice(int(links[row]["iv"]), ends[1])
