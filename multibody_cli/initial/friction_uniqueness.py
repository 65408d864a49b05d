"""Uniqueness of the dry friction of joints, from the initial state.

The limit of friction is mu sum |a|, with the loads a of `contact_solver.joint_friction`.  A unit of friction changes
the motion, by it the wrench F of the joint, and by that the limit, at most by

    mu sum |N^+ (dF - friction at the points)|.

If this is at most 1, the friction of a single joint is unique.  Above, friction grows beyond any limit by the loads
that it causes.  If a small friction relieves the joint, it slides with that, with more, or stops at once (Painleve).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.alarms.catalogue import UNIQUENESS
from multibody_cli.alarms.contract import Raised, Remedy
from multibody_cli.implicit.linearization import compute_mass_matrix
from multibody_cli.initial.linearized_motion import MOST_COORDINATES
from multibody_cli.model import Floats, Model, Records, State
from multibody_cli.scene.simulation import SimulationSpec
from multibody_cli.spec.rotations import cross_matrix
from multibody_cli.tree.workspace import Work, workspace_for


def check_friction(simulation: SimulationSpec, model: Model, state: State) -> Iterator[Raised]:
    """Return a note for each joint of a tree whose friction may have several solutions.

    Parameters
    ----------
    simulation
        The settings of the run.
    model, state
        The model in joint coordinates, and its initial state.  With closed loops or constraints there are no notes.
    """
    allowed = simulation.alarms.get(UNIQUENESS, 1.0)
    gains: dict[str, float] = {}
    for place, gain in zip(_places(model), friction_gains(model, state), strict=False):
        name = model.names.friction_joints[place]
        gains[name] = max(gain, gains.get(name, 0.0))
    for name, gain in gains.items():
        if gain > allowed:
            message = (
                f"the friction of joint `{name}` is not unique in all states: it changes the loads of the joint so "
                f"that its limit grows by up to {gain:.3g} N per N, and above 1 Coulomb's law has several solutions "
                "where friction relieves the joint; the run follows one of them, its mirror image perhaps another"
            )
            remedy = Remedy(change=f"reduce the `friction` of `{name}` or enlarge its surface")
            yield Raised(UNIQUENESS, "note", message, remedy, value=gain, threshold=allowed)


def _places(model: Model) -> list[int]:
    contacts = model.system.contacts
    return contacts.joint_friction.patches["place"].tolist() if contacts else []


def friction_gains(model: Model, state: State) -> list[float]:
    """Return the largest change of the limit of each friction patch by a unit of its friction, in each slip direction.

    Empty for models with loops, constraints, or more than `MOST_COORDINATES` coordinates.
    """
    system, n = model.system, int(model.system.tree.links["nv"].sum())
    bound = bool((system.rows["one_sided"] == 0).any()) or n > MOST_COORDINATES
    if not system.contacts or not len(system.contacts.joint_friction.patches) or bound:
        return []
    work, M = workspace_for(system), np.zeros((n, n))
    compute_mass_matrix(system, work, state.copy(), np.zeros(n), M)
    free = np.flatnonzero(~system.tree.driven[:n])
    mobility = np.zeros((n, n))
    mobility[np.ix_(free, free)] = np.linalg.pinv(M[np.ix_(free, free)], hermitian=True)
    J = _jacobians(model, work)
    momenta = _momenta_beyond(model, work, J)
    table, found = system.contacts.joint_friction, []
    for patch in table.patches:
        R = _matrix(work.bodies["R"][patch["carrier"]]) @ _matrix(patch["axes"])
        points = table.points[patch["first_point"] : patch["last_point"]]
        if len(points) == 0:
            found.append(0.0)  # of a brake alone
            continue
        loads = table.loads[points["first_load"][0] : points["last_load"][-1]]
        gain = 0.0
        for way in ("along", "across")[: patch["slip_directions"]]:
            slip = np.concatenate((R @ patch[f"{way}_t"], R @ patch[f"{way}_f"]))
            force = _force(slip, patch, work, J)
            dF = momenta[patch["row"]] @ (mobility @ force)
            shares = np.hstack((points[f"{way}_t"], points[f"{way}_f"])).mean(axis=0)  # as if all were loaded alike
            W = np.concatenate((dF[:3] @ R, dF[3:] @ R)) - shares
            gain = max(gain, float(np.abs(np.hstack((loads["t"], loads["f"])) @ W).sum()))
        found.append(float(patch["static_friction"]) * gain)
    return found


def _jacobians(model: Model, work: Work) -> Floats:
    """Return the Jacobians (bodies, 6, n) of all twists, each about the origin of its body, world axes."""
    links, n = model.system.tree.links, int(model.system.tree.links["nv"].sum())
    J = np.zeros((len(links), 6, n))
    for i in range(1, len(links)):
        link = links[i]
        if link["parent"] > 0:
            J[i] = _shift(work.bodies["r"][i]).T @ J[link["parent"]]
        own = slice(link["iv"], link["iv"] + link["nv"])
        J[i, :, own] = np.hstack((work.columns["angular"][own], work.columns["linear"][own])).T
    return J


def _momenta_beyond(model: Model, work: Work, J: Floats) -> Floats:
    """Return the momenta (bodies, 6, n), about the origin of each body, of it and all beyond it, by unit rates."""
    links, bodies = model.system.tree.links, work.bodies
    momenta = np.zeros_like(J)
    for i in range(len(links) - 1, 0, -1):
        xx, xy, xz, yy, yz, zz = bodies["J"][i]
        h = cross_matrix(bodies["h"][i])
        inertia = np.block(
            [[np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), h], [h.T, links["mass"][i] * np.eye(3)]]
        )
        momenta[i] += inertia @ J[i]
        if links["parent"][i] > 0:
            momenta[links["parent"][i]] += _shift(bodies["r"][i]) @ momenta[i]
    return momenta


def _force(slip: Floats, patch: Records, work: Work, J: Floats) -> Floats:
    """Return the generalized forces (n,) of a unit of friction: a wrench on the child, the opposite on the parent."""
    force, x = np.zeros(J.shape[2]), work.bodies["x"]
    for body, sign in ((patch["child"], 1.0), (patch["parent"], -1.0)):
        if body > 0:
            force += sign * (J[body].T @ (_shift(x[patch["row"]] - x[body]) @ slip))
    return force


def _shift(r: Floats) -> Floats:
    """Return the matrix (6, 6) from a wrench [t; f] about a point to that about another one, from which it is at r."""
    return np.block([[np.eye(3), cross_matrix(r)], [np.zeros((3, 3)), np.eye(3)]])


def _matrix(columns: Floats) -> Floats:
    return np.asarray(columns, np.float64).reshape(3, 3).T
