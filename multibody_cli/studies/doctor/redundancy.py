"""Degrees of freedom and redundant rows, and the change that removes these: planar bodies, or bearings for hinges.

A planar loop in space has three redundant rows: two rotations out of the plane, and the translation along its normal.
Bodies of `kind: planar` have none.  Two hinges on one axis hold a body twice; a ball and a ball that slides along the
axis, as a fixed and a floating bearing, hold it once.  A change is tried on the scene before its settings are advised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from multibody_cli.constraints.rolling import tangents_of
from multibody_cli.errors import SceneError
from multibody_cli.immutable import Immutable
from multibody_cli.initial.assemble import Assembler
from multibody_cli.joints import JOINTS
from multibody_cli.joints.screws import RevoluteSpec
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import sampled_configurations
from multibody_cli.scene.bodies import IN_PLANE
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.studies.doctor.subject import Finding, Severity, Subject

CHECK = "redundant constraints"


def find_redundancy(subject: Subject) -> Iterator[Finding]:
    """Report the redundant rows of each element, and a change that removes them."""
    rows = dependent_rows(subject)
    if not rows:
        return
    model = subject.start[0]
    names, one_sided = model.names.rows, model.system.rows["one_sided"]
    elements = [(names[r].section, names[r].element) for r in rows]
    bodies = _bodies_of_loops(subject.scene, [name for section, name in elements if section == "joints"])
    normal = _common_normal(subject, bodies)
    settings: tuple[str, ...] = () if normal is None else planar_settings(subject, bodies, normal)
    tried = len(settings) > 0
    consequence = (
        "their reactions and the dry friction that depends on them are not unique"
        if subject.scene.friction_joints
        else "the motion is right, but their reactions are not unique"
    )
    for element, group in groupby(rows, key=lambda r: (names[r].section, names[r].element)):
        which = list(group)
        total = sum(
            (name.section, name.element) == element and not unilateral
            for name, unilateral in zip(names, one_sided, strict=True)
        )
        directions = ", ".join(names[r].direction for r in which)
        cause = (
            f"{len(which)} of its {total} constraint rows ({directions}) repeat constraints of other elements: "
            f"{consequence}, and manufacturing errors would jam the mechanism"
        )
        twin = _twin_hinge(subject.scene, element) if len(which) == total else None
        if twin is None:
            advice = _advice(element, directions, bodies, normal, tried)
        else:
            advice, settings = _bearings(twin, element[1]), bearing_settings(subject, twin, element[1])
        yield subject.finding(CHECK, Severity.ACCURACY, element, cause, advice, settings)
        settings = ()  # they are those of all elements


def _advice(
    element: tuple[str, str], directions: str, bodies: Sequence[str], normal: Floats | None, tried: bool
) -> str:
    words = ", ".join(f"`{name}`" for name in bodies)
    if tried:
        return f"write `kind: planar`, with position and rotation at the start, for {words}: they move in one plane"
    if element[0] != "joints":
        return "remove it, or an element that has the same effect"
    such = "a `composite` joint" if "along" in directions else "`spherical` or a `composite` joint"
    general = f"replace it by a joint that also moves {directions}, such as {such}"
    if normal is None:
        return general
    return (
        f"{words} move in a plane with the normal {_numbers(normal.round(6))}: write `kind: planar`, with the z axis "
        f"of each frame along the normal; or {general}"
    )


def _twin_hinge(scene: SceneSpec, element: tuple[str, str]) -> str | None:
    """Return another hinge of the same two bodies as a hinge without any effect: both have one axis."""
    joint = scene.joints.get(element[1]) if element[0] == "joints" else None
    if not isinstance(joint, RevoluteSpec):
        return None
    ends = {joint.parent, joint.child}
    twins = (
        name for name, one in scene.joints.items() if isinstance(one, RevoluteSpec) and {one.parent, one.child} == ends
    )
    return next((name for name in twins if name != element[1]), None)


def _bearings(fixed: str, floating: str) -> str:
    return (
        f"`{fixed}` and `{floating}` have one axis: make `{fixed}` a `spherical` joint, which carries the load along "
        f"the axis, and `{floating}` a `composite` joint of a `prismatic` part along the axis and three `revolute` "
        "parts, which guides across it; the turn about the axis remains"
    )


def bearing_settings(subject: Subject, fixed: str, floating: str) -> tuple[str, ...]:
    """Return values for `--set` that make two coaxial hinges bearings; empty if that changes the mechanism."""
    hinge, other = subject.scene.joints[fixed], subject.scene.joints[floating]
    assert isinstance(hinge, RevoluteSpec)
    assert isinstance(other, RevoluteSpec)
    start, axis, along = JOINTS[hinge.type].start(hinge), np.array(hinge.axis), np.array(other.axis)
    across = tangents_of(tuple(along.tolist()))
    turns = ", ".join(f"{{type: revolute, axis: {_numbers(one)}}}" for one in (along, *across))
    settings = [
        *([f"joints.{fixed}.axis=null"] if "axis" in hinge.model_fields_set else []),
        f"joints.{fixed}.type=spherical",
        f"joints.{fixed}.q={{axis: {_numbers(axis)}, angle: {start.q[0]!r}}}",
        f"joints.{fixed}.v={_numbers(start.v[0] * axis)}",
        *(f"joints.{floating}.{key}=null" for key in ("axis", "q", "v") if key in other.model_fields_set),
        f"joints.{floating}.type=composite",
        f"joints.{floating}.parts=[{{type: prismatic, axis: {_numbers(along)}}}, {turns}]",
    ]
    return _if_equivalent(subject, settings)


def planar_settings(subject: Subject, bodies: Sequence[str], normal: Floats) -> tuple[str, ...]:
    """Return values for `--set` that make bodies planar; empty if that fails or changes the mechanism."""
    settings = []
    for name in bodies:
        body = list(subject.scene.bodies).index(name)
        w, x, y, z = subject.samples.quaternion[0, body].tolist()
        axis = rotation_matrix((w, x, y, z))[:, 2]
        if np.linalg.norm(np.cross(axis, normal)) > IN_PLANE:
            return ()  # the body frame would have to be turned, and all its shapes with it
        settings += [
            f"bodies.{name}.kind=planar",
            f"bodies.{name}.position={_numbers(subject.samples.position[0, body])}",
            f"bodies.{name}.rotation={{quaternion: {_numbers((w, x, y, z))}}}",
        ]
        linear, angular = subject.samples.linear_velocity[0, body], subject.samples.angular_velocity[0, body]
        if linear.any() or angular.any():
            settings.append(f"bodies.{name}.velocity={{linear: {_numbers(linear)}, angular: {_numbers(angular)}}}")
    return _if_equivalent(subject, settings)


def _if_equivalent(subject: Subject, settings: Sequence[str]) -> tuple[str, ...]:
    """Return settings if the changed scene has the same degrees of freedom and no redundant rows; else none."""
    try:
        changed = Subject(subject.source, (*subject.overrides, *settings))
    except SceneError:
        return ()
    same = changed.simulation.compiled.n_dofs == subject.simulation.compiled.n_dofs
    return tuple(settings) if same and not dependent_rows(changed) else ()


def _numbers(values: Iterable[float]) -> str:
    return f"[{', '.join(f'{0.0 if abs(value) < 1e-15 else value:.15g}' for value in values)}]"


def _common_normal(subject: Subject, bodies: Sequence[str]) -> Floats | None:
    """Return the normal of the plane in which all joints between some bodies move them; None without one."""
    held = inboard_joints(subject.scene)
    if not bodies or not held.keys() >= set(bodies):
        return None
    inside = {WORLD, *bodies}
    columns = [
        R @ part
        for joint in subject.scene.joints.values()
        if joint.parent in inside and joint.child in inside
        for R in [_frame_of(subject, joint)]
        for parts in [tuple(JOINTS[joint.type].parts(joint))]
        for configuration in sampled_configurations(parts, (False,) * sum(part.nv for part in parts))
        for part in configuration.columns.reshape(2, 3, -1)
    ]
    angular, linear = (np.hstack(columns[k::2]) for k in (0, 1))
    sizes = np.linalg.norm(angular, axis=0)
    if not sizes.any():
        return None
    normal = angular[:, int(np.argmax(sizes))] / sizes.max()
    within = np.abs(normal @ linear).max() <= IN_PLANE and np.abs(np.cross(normal, angular.T)).max() <= IN_PLANE
    return normal if within else None


def _frame_of(subject: Subject, joint: JointSpec) -> Floats:
    """Return the rotation (3, 3) of frame F of a joint in the world, at the start."""
    R = rotation_matrix(joint.origin.rotation)
    if joint.parent == WORLD:
        return R
    parent = list(subject.scene.bodies).index(joint.parent)
    return rotation_matrix(subject.samples.quaternion[0, parent]) @ R


def _bodies_of_loops(scene: SceneSpec, joints: Iterable[str]) -> list[str]:
    """Return the bodies of the loops that some joints close, and those that carry them, in scene order."""
    holder, found = inboard_joints(scene), set[str]()
    for name in joints:
        for end in (scene.joints[name].parent, scene.joints[name].child):
            body = end
            while body != WORLD and body not in found:
                found.add(body)
                body = scene.joints[holder[body]].parent if body in holder else WORLD
    return [body for body in scene.bodies if body in found]


class DofCount(Immutable):
    """total = of_bodies - of_joints - of_constraints - prescribed + redundant (Gruebler and Kutzbach).

    Parameters
    ----------
    total
        Degrees of freedom at the start.
    bodies, of_bodies
        Number of bodies, and their degrees of freedom without joints.
    joints, of_joints
        Number of joints, and their constraints, without those of prescribed motion.
    constraints, of_constraints
        Number of couplings and constraints, and their rows.
    prescribed
        Coordinates with prescribed motion.
    redundant
        Rows that depend on others at the start.
    """

    total: int
    bodies: int
    of_bodies: int
    joints: int
    of_joints: int
    constraints: int
    of_constraints: int
    prescribed: int
    redundant: int


def dependent_rows(subject: Subject) -> list[int]:
    """Return the constraint rows that depend on others at the start."""
    if not len(subject.start[0].system.rows):
        return []
    return list(Assembler(*subject.start).dependent_rows())


def count_dofs(subject: Subject) -> DofCount:
    """Count the degrees of freedom of a scene."""
    model, scene = subject.start[0], subject.scene
    tree, rows = model.system.tree, model.system.rows
    of_bodies = sum(KINDS[body.kind].n_dofs for body in scene.bodies.values())
    of_tree = int(tree.links["nv"].sum())
    of_loops = int((tree.closures["last_row"] - tree.closures["first_row"]).sum())
    prescribed = int(np.count_nonzero(tree.driven))
    of_constraints = int(np.count_nonzero(rows["one_sided"] == 0)) - of_loops
    of_joints = of_bodies - of_tree + of_loops - int(np.count_nonzero(tree.driven[of_tree:]))
    redundant = len(dependent_rows(subject))
    return DofCount(
        of_bodies - of_joints - of_constraints - prescribed + redundant,
        len(scene.bodies),
        of_bodies,
        len(scene.joints),
        of_joints,
        len(scene.couplings) + len(scene.constraints),
        of_constraints,
        prescribed,
        redundant,
    )
