"""A compiled scene as a tree that peers can build."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.joints.contract import PartCode
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats, Model, Records, State
from multibody_cli.peers.contract import Kind, Link, Mechanism, PeerRefusal, Piece

_KINDS = {PartCode.BALL: Kind.BALL, PartCode.FREE: Kind.FREE}


def mechanism_of(model: Model, state: State, step: float, integrator: str) -> Mechanism:
    """Read the tree off a model in the coordinates of its joints.

    Raises
    ------
    PeerRefusal
        The scene has more than a tree of joints under gravity; the message names it.
    """
    unknown = list(_what_peers_lack(model))
    if unknown:
        raise PeerRefusal(f"peers are given trees of joints under gravity alone, and this scene has {_listed(unknown)}")
    tree = model.system.tree
    links = tuple(_link(link, tree.parts) for link in tree.links[1:])
    return Mechanism(links, np.array(tree.gravity), state.q.copy(), state.v.copy(), step, integrator)


def _what_peers_lack(model: Model) -> Iterator[str]:
    """Name what a mechanism has no word for."""
    system = model.system
    tree, forces = system.tree, system.forces
    counts = {
        "joints that close loops": len(tree.closures),
        "couplings, constraints or limits": len(system.rows) - len(tree.locks),
        "couplings with `reduce: true`": len(system.reductions.dependents),
        "prescribed motions": len(system.motions.rows),
        "forces of joints": len(forces.actuators),
        "springs or dampers of joints": len(forces.joint_springs) + len(forces.rotation_springs),
        "forces on bodies": len(forces.loads) + len(forces.drags),
        "springs or muscles between bodies": len(forces.springs) + len(forces.bushings) + len(forces.muscles),
        "affine bodies": len(model.names.affine),
        "rotations in exponential coordinates": len(tree.exponentials),
        "joints along splines, curves, surfaces or formulas": int(
            np.count_nonzero(tree.parts["code"] == PartCode.GENERATED)
        ),
    }
    yield from (what for what, count in counts.items() if count > 0)
    if any(np.any(part["turn"]) and np.any(part["slide"]) for part in tree.parts):
        yield "screws"


def _link(link: np.void, parts: Records) -> Link:
    run = parts[link["first_part"] : link["last_part"]]
    central = np.zeros((3, 3))
    central[np.triu_indices(3)] = link["central"]
    central = central + np.triu(central, 1).T
    return Link(
        parent=int(link["parent"]),
        position=np.array(link["origin"]),
        rotation=np.array(link["frame"]).reshape(3, 3).T,  # it is kept by columns
        pieces=tuple(_piece(part) for part in run),
        mass=MassProperties(float(link["mass"]), np.array(link["com"]), central),
    )


def _piece(part: np.void) -> Piece:
    turn, slide = np.array(part["turn"]), np.array(part["slide"])
    kind = _KINDS.get(PartCode(int(part["code"])), Kind.HINGE if turn.any() else Kind.SLIDE)
    return Piece(kind, turn if turn.any() else slide, int(part["iq"]), int(part["iv"]))


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def rotation_of(quaternion: Floats) -> Floats:
    """(4,) unit quaternion (w, x, y, z) to the rotation matrix (3, 3)."""
    w, x, y, z = quaternion
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Floats = np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew
    return rotation
