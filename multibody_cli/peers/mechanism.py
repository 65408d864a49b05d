"""Conversion of a compiled scene to a kinematic tree for peers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.joints.contract import PartCode
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats, Model, Records, State
from multibody_cli.peers.contract import Kind, Link, Mechanism, PeerRefusal, Piece

_KINDS = {PartCode.BALL: Kind.BALL, PartCode.FREE: Kind.FREE}


def mechanism_of(model: Model, state: State, step: float, integrator: str) -> Mechanism:
    """Return the kinematic tree of a model, in its joint coordinates.

    Raises
    ------
    PeerRefusal
        The scene has features other than a tree of joints under gravity; the message lists them.
    """
    unknown = list(_unsupported_features(model))
    if unknown:
        raise PeerRefusal(f"peers support only trees of joints under gravity, and this scene has {_listed(unknown)}")
    tree = model.system.tree
    links = tuple(_link(link, tree.parts) for link in tree.links[1:])
    return Mechanism(links, np.array(tree.gravity), state.q.copy(), state.v.copy(), step, integrator)


def _unsupported_features(model: Model) -> Iterator[str]:
    """Yield the features of a model that a mechanism cannot represent."""
    system = model.system
    tree, forces = system.tree, system.forces
    counts = {
        "joints that close loops": len(tree.closures),
        "couplings, constraints or limits": len(system.rows) - len(tree.constraint_axes),
        "couplings with `reduce: true`": len(system.reductions.dependents),
        "prescribed motions": len(system.motions.rows),
        "computed torques": len(system.commands),
        "rotors of motors": int(np.count_nonzero(tree.rotor_inertia)),
        **forces.counts,
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
        rotation=np.array(link["frame"]).reshape(3, 3).T,  # stored by columns
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
    """Return the rotation matrix (3, 3) of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Floats = np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew
    return rotation
