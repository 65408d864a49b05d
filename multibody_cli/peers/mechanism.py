"""Conversion of a compiled scene to a mechanism for peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

import numpy as np

from multibody_cli.constraints import TABLES
from multibody_cli.constraints.rotor import TABLE as ROTORS
from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.grid import pair_of
from multibody_cli.contacts.surfaces import RULES
from multibody_cli.errors import series
from multibody_cli.immutable import replace
from multibody_cli.joints.contract import PartCode
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats, Model, Records, State, Tree
from multibody_cli.peers.contract import Closure, JointPrimitive, Mechanism, PeerLink, PeerRefusal, PeerSolid, Piece
from multibody_cli.peers.motion import motion_of

_KINDS = {PartCode.BALL: JointPrimitive.BALL, PartCode.FREE: JointPrimitive.FREE}
_SIZES = {GeomKind.PLANE: 0, GeomKind.SPHERE: 1, GeomKind.CAPSULE: 2, GeomKind.BOX: 3}
"""Number of lengths of each supported shape."""
PARALLEL = 1e-9
"""Largest sine of the angle between axes that count as parallel."""


def mechanism_of(model: Model, state: State, step: float, integrator: str) -> Mechanism:
    """Return the bodies of a model, with the tree in its joint coordinates.

    Raises
    ------
    PeerRefusal
        The scene has features that no peer supports; the message lists them.
    """
    unknown = [*_unsupported_features(model), *_unsupported_shapes(model)]
    if unknown:
        raise PeerRefusal(
            f"peers support only joints, loops of hinges and balls, and contacts under gravity, and this scene has "
            f"{series(unknown, 'and')}"
        )
    tree = model.system.tree
    brakes = _brakes(model)
    links = tuple(_link(link, tree.parts, brakes) for link in tree.links[1:])
    nq, nv = _sizes_of_tree(tree, model)
    q, v = state.q[:nq].copy(), state.v[:nv].copy()
    rotations = motion_of(links, q, v).rotations if len(tree.closures) else np.zeros((0, 3, 3))
    closures = tuple(_closure(one, tree.parts, links, rotations) for one in tree.closures)
    mechanism = Mechanism(links, np.array(tree.gravity), q, v, step, integrator, closures)
    if not (model.system.contacts and len(model.system.contacts.geometry.geoms)):
        return mechanism
    geometry = model.system.contacts.geometry
    return replace(
        mechanism,
        solids=tuple(_solid(geom) for geom in geometry.geoms),
        excluded=tuple(sorted({*map(pair_of, geometry.excluded.tolist()), *_welded_pairs(geometry.geoms)})),
        friction=float(geometry.geoms["friction"][0]),
    )


def _unsupported_features(model: Model) -> Iterator[str]:
    """Yield the features of a model that a mechanism cannot represent."""
    system = model.system
    tree, forces = system.tree, system.forces
    rotors = len(system.constraints.tables[TABLES.index(ROTORS)])
    counts = {
        "joints that close loops and are neither hinges nor balls": sum(
            _kind_of_closure(one, tree.parts) is None for one in tree.closures
        ),
        "couplings, constraints or limits": len(system.rows) - len(tree.constraint_axes) - rotors,
        "couplings with `reduce: true`": len(system.reductions.dependents),
        "prescribed motions": len(system.motions.rows),
        "computed torques": len(system.commands),
        "armatures": int(np.count_nonzero(tree.armature)) + rotors,
        **forces.counts,
        "affine bodies": len(model.names.affine),
        "rotations in exponential coordinates": len(tree.exponentials),
        "parts of joints with a `position`": int(np.count_nonzero(tree.parts["code"] == PartCode.OFFSET)),
        "joints along splines, curves, surfaces or formulas": int(
            np.count_nonzero(tree.parts["code"] == PartCode.GENERATED)
        ),
    }
    yield from (feature for feature, count in counts.items() if count > 0)
    if any(np.any(part["turn"]) and np.any(part["slide"]) for part in tree.parts):
        yield "screws"


def _unsupported_shapes(model: Model) -> Iterator[str]:
    """Yield the properties of contacts and of joint friction that a mechanism cannot represent."""
    contacts = model.system.contacts
    if not contacts:
        return
    if np.any(contacts.joint_friction.patches["static_friction"] > 0.0):
        yield "friction of joints in proportion to their loads"
    if len(contacts.joint_friction.brakes) > 0:
        yield "friction of combinations or of paths"
    brakes = _brakes(model)
    for part in model.system.tree.parts:
        limits = brakes[part["iv"] : part["iv"] + part["width"]]
        if part["code"] == PartCode.FREE and limits.any():
            yield "brakes of free joints"
        elif np.ptp(limits) > 0.0:
            yield "balls with different brakes on their coordinates"
    geoms = contacts.geometry.geoms
    if not set(geoms["kind"].tolist()) <= set(_SIZES):
        yield "collision shapes other than planes, spheres, capsules and boxes"
    if np.any(geoms["body"][geoms["kind"] == GeomKind.PLANE] != 0):
        yield "planes on bodies"
    if len(np.unique(geoms["group"])) > 1 or np.any(geoms["group"] & geoms["mask"] == 0):
        yield "groups of shapes"
    if np.any(geoms["restitution"] != 0.0):
        yield "restitution"
    if len(contacts.geometry.own_pairs) > 0:
        yield "pairs of bodies with coefficients of their own"
    if RULES[contacts.geometry.combine[0]] == "product":
        yield "friction as a product of two coefficients"
    if len(set(geoms["friction"].tolist())) > 1:
        yield "surfaces with different coefficients of friction"
    if np.any(geoms["kinetic_friction"] != geoms["friction"]):
        yield "different coefficients of static and kinetic friction"


def _welded_pairs(geoms: Records) -> Iterator[tuple[int, int]]:
    """Yield the pairs of bodies with shapes that fixed joints hold together."""
    bodies = sorted({(int(weld), int(body)) for weld, body in zip(geoms["weld"], geoms["body"], strict=True)})
    for _, weld in groupby(bodies, key=lambda one: one[0]):
        yield from combinations([body for _, body in weld], 2)


def _sizes_of_tree(tree: Tree, model: Model) -> tuple[int, int]:
    """Return the lengths of q and v without loop joints, whose coordinates are the last ones."""
    if len(tree.closures) == 0:
        return model.nq, model.nv
    first = tree.closures[0]
    return int(tree.parts[first["first_part"]]["iq"]), int(first["iv"])


def _kind_of_closure(closure: np.void, parts: Records) -> JointPrimitive | None:
    """Return the kind of a loop joint, or None if no peer supports it."""
    run = parts[closure["first_part"] : closure["last_part"]]
    kind = _piece(run[0]).kind if len(run) == 1 else None
    return kind if kind in (JointPrimitive.HINGE, JointPrimitive.BALL) else None


def _closure(closure: np.void, parts: Records, links: Sequence[PeerLink], rotations: Floats) -> Closure:
    kind = _kind_of_closure(closure, parts)
    assert kind is not None
    axis = _piece(parts[closure["first_part"]]).axis
    parent, child = int(closure["parent"]), int(closure["child"])
    parent_axis = _matrix(closure["frame"]) @ axis
    world_axis = parent_axis if parent == 0 else rotations[parent - 1] @ parent_axis
    loop = _path(links, parent) ^ _path(links, child)
    return Closure(
        kind=kind,
        parent=parent,
        child=child,
        parent_point=np.array(closure["origin"]),
        child_point=np.array(closure["child_origin"]),
        parent_axis=parent_axis,
        child_axis=_matrix(closure["child_frame"]) @ axis,
        holds_axis=kind is JointPrimitive.HINGE
        and not all(_turns_about(world_axis, links[k - 1], rotations[k - 1]) for k in loop),
    )


def _turns_about(axis: Floats, link: PeerLink, rotation: Floats) -> bool:
    """Return whether the inboard joint of a link is one hinge whose axis is parallel to a unit axis of the world."""
    if len(link.pieces) != 1 or link.pieces[0].kind is not JointPrimitive.HINGE:
        return False
    return bool(np.linalg.norm(np.cross(axis, rotation @ link.pieces[0].axis)) < PARALLEL)


def _path(links: Sequence[PeerLink], number: int) -> set[int]:
    """Return the numbers of a link and of all its ancestors."""
    path = set()
    while number:
        path.add(number)
        number = links[number - 1].parent
    return path


def _solid(geom: np.void) -> PeerSolid:
    kind = GeomKind(int(geom["kind"]))
    size = tuple(float(length) for length in geom["extent"][: _SIZES[kind]])
    return PeerSolid(kind, size, int(geom["body"]), np.array(geom["x"]), _matrix(geom["R"]))


def _matrix(columns: Floats) -> Floats:
    """Return a rotation matrix (3, 3) that is stored by columns."""
    return np.array(columns).reshape(3, 3).T


def _brakes(model: Model) -> Floats:
    """Return the limits of the brakes on all coordinates (nv,), N m or N."""
    contacts, brakes = model.system.contacts, np.zeros(model.nv)
    for patch in contacts.joint_friction.patches if contacts else ():
        arm = 1.0 if patch["dual"] >= 0 else np.linalg.norm(np.hstack((patch["along_t"], patch["along_f"])))
        joint = model.system.tree.links[patch["child"]]
        brakes[int(joint["iv"]) + int(patch["coordinate"])] = float(patch["brake"] * arm)
    return brakes


def _link(link: np.void, parts: Records, brakes: Floats) -> PeerLink:
    run = parts[link["first_part"] : link["last_part"]]
    central = np.zeros((3, 3))
    central[np.triu_indices(3)] = link["central"]
    central = central + np.triu(central, 1).T
    return PeerLink(
        parent=int(link["parent"]),
        position=np.array(link["origin"]),
        rotation=_matrix(link["frame"]),
        pieces=tuple(replace(_piece(part), brake=float(brakes[part["iv"]])) for part in run),
        mass=MassProperties(float(link["mass"]), np.array(link["com"]), central),
    )


def _piece(part: np.void) -> Piece:
    turn, slide = np.array(part["turn"]), np.array(part["slide"])
    kind = _KINDS.get(PartCode(int(part["code"])), JointPrimitive.HINGE if turn.any() else JointPrimitive.SLIDE)
    return Piece(kind, turn if turn.any() else slide, int(part["iq"]), int(part["iv"]))
