"""Tree topology: inboard joints, and depth-first numbering of the bodies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec.entries import split_coordinate
from multibody_cli.spec.path import moving_coordinates


def inboard_joints(scene: SceneSpec, also: Callable[[JointSpec], bool] = lambda joint: False) -> dict[str, str]:
    """Return the name of the inboard joint of each body, by the name of the body; the other joints are loop joints.

    The inboard joint is the first joint in scene order whose child is the body, unless the joint's parent is a
    descendant of the body.  A body that has none then, and no start of its own, although joints lead to it from the
    world or from another tree, has that of the shortest path, and so have the bodies along it.  A body that is not
    rigid moves by its own degrees of freedom, and its joints are loop joints, unless `also` accepts them.  So are
    joints that an event may release.
    """
    bodies, joints = scene.bodies, scene.joints
    found: dict[str, str] = {}
    carriers: set[str] = set()
    joints_to: dict[str, list[str]] = {}
    for name, joint in joints.items():
        rigid = all(bodies[end].kind == "rigid" for end in (joint.parent, joint.child) if end in bodies)
        if joint.releasable or (not rigid and not also(joint)):
            continue
        joints_to.setdefault(joint.child, []).append(name)
        may_carry = joint.child in carriers or joint.child == joint.parent
        if joint.child not in found and not (may_carry and _carries(joint.child, joint.parent, found, joints)):
            found[joint.child] = name
            carriers.add(joint.parent)
    for body in joints_to:
        if body not in found and body in bodies and not bodies[body].given_start:
            found |= _path_to(body, joints_to, found, joints)
    return found


def _path_to(
    root: str, joints_to: Mapping[str, Sequence[str]], found: Mapping[str, str], joints: Mapping[str, JointSpec]
) -> dict[str, str]:
    """Return the joints of the shortest path to the root of a tree from outside of the tree, by their child."""
    onward: dict[str, str] = {}  # the joint by which the path leaves a body
    tree, waiting = {root}, deque([root])
    while waiting:
        body = waiting.popleft()
        for name in joints_to.get(body, ()):
            parent = joints[name].parent
            inboard = [parent]
            while inboard[-1] not in tree and inboard[-1] in found:
                inboard.append(joints[found[inboard[-1]]].parent)
            if inboard[-1] not in tree:
                path = {body: name}
                while body != root:
                    name = onward[body]
                    body = joints[name].child
                    path[body] = name
                return path
            tree.update(inboard)
            if parent != root and parent not in onward:
                onward[parent] = name
                waiting.append(parent)
    return {}


def loop_joints(scene: SceneSpec) -> set[str]:
    """Return the names of the joints that carry no body."""
    return set(scene.joints).difference(inboard_joints(scene).values())


def second_joint_of_child(scene: SceneSpec, section: str, name: str) -> str:
    """Return a remark about a loop joint whose child another joint carries; empty for other joints and elements."""
    if section != "joints":
        return ""
    child = scene.joints[name].child
    inboard = inboard_joints(scene).get(child, name)
    if inboard == name:
        return ""
    return f"; `{name}` closes a loop, because `{inboard}` carries `{child}` already: is its `child` right?"


def _carries(body: str, other: str, found: Mapping[str, str], joints: Mapping[str, JointSpec]) -> bool:
    """Whether `other` is the body itself or one of its descendants."""
    while other != body and other in found:
        other = joints[found[other]].parent
    return other == body


def bodies_in_loops(bodies: Iterable[str], joints: Mapping[str, JointSpec]) -> tuple[int, ...]:
    """Return the numbers of the bodies in closed loops of joints, and of those between two loops.

    They are left when bodies with a single joint are taken away as long as there are any.
    """
    joints_of: dict[str, list[str]] = {body: [] for body in bodies}
    for name, joint in joints.items():
        for end in (joint.parent, joint.child):
            if end in joints_of:
                joints_of[end].append(name)
    open_joints = set(joints)
    pending = [body for body, names in joints_of.items() if len(names) < 2]
    taken = set(pending)
    while pending:
        for name in open_joints.intersection(joints_of[pending.pop()]):
            open_joints.remove(name)
            for end in (joints[name].parent, joints[name].child):
                if end in joints_of and end not in taken and len(open_joints.intersection(joints_of[end])) < 2:
                    taken.add(end)
                    pending.append(end)
    return tuple(number for number, body in enumerate(joints_of) if body not in taken)


def rows_of_tree(
    bodies: Mapping[str, BodySpec], joints: Mapping[str, JointSpec], inboard: Mapping[str, str]
) -> dict[str, int]:
    """Number the bodies in depth-first order; the world is row 0.

    Parameters
    ----------
    bodies
        In scene order; the parent of a body without inboard joint is the world.
    joints
        By name.
    inboard
        Name of the inboard joint of each body that has one.
    """
    parent_of = {body: joints[name].parent for body, name in inboard.items()}
    children: dict[str, list[str]] = {name: [] for name in (WORLD, *bodies)}
    for body in bodies:
        children[parent_of.get(body, WORLD)].append(body)
    order: list[str] = []
    waiting = list(reversed(children[WORLD]))
    while waiting:
        body = waiting.pop()
        order.append(body)
        waiting.extend(reversed(children[body]))
    return numbered(bodies, order)


def numbered(bodies: Mapping[str, BodySpec], order: Sequence[str]) -> dict[str, int]:
    """Assign rows to the bodies in an order, four rows to an affine one; the world is row 0."""
    rows, count = {WORLD: 0}, 1
    for body in order:
        rows[body] = count
        count += KINDS[bodies[body].kind].rows
    return rows


# --- joints that paths cross ------------------------------------------------------------------------------------------
def is_prescribed(scene: SceneSpec, bodies: Sequence[str]) -> bool:
    """Return whether bodies move relative to each other by prescribed motions alone, or not at all."""
    inboard_joint_of = inboard_joints(scene)
    chains = [list(_chain(body, scene, inboard_joint_of)) for body in bodies]
    roots = {scene.joints[chain[-1]].parent if chain else body for chain, body in zip(chains, bodies, strict=True)}
    crossed = set().union(*chains) - set(chains[0]).intersection(*chains)
    return len(roots) == 1 and all(all(scene.joints[name].driven) for name in crossed)


def coordinates_crossed(scene: SceneSpec, muscle: str) -> tuple[str, ...]:
    """Return the names of the coordinates of the joints that a muscle crosses."""
    words: list[str] = []
    for name, _ in crossings(scene, muscle):
        count = len(scene.joints[name].coordinates)
        words += [name] if count == 1 else [f"{name}/{k}" for k in range(count)]
    return tuple(words)


def crossings(scene: SceneSpec, muscle: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each joint that a muscle crosses, and the numbers of the points that are outboard of it.

    These are some but not all points, unless the joint moves points in their bodies.
    """
    inboard_joint_of, points = inboard_joints(scene), [end for _, end in scene.muscles[muscle].points]
    chains = [set(_chain(end.body, scene, inboard_joint_of)) for end in points]
    moving = {split_coordinate(word)[0] for word in moving_coordinates(points)}
    for name in scene.joints:
        outward = [k for k, chain in enumerate(chains) if name in chain]
        if 0 < len(outward) < len(chains) or name in moving:
            yield name, outward


def _chain(body: str, scene: SceneSpec, inboard_joint_of: dict[str, str]) -> Iterator[str]:
    """Yield the joints from a body to the world."""
    while body in inboard_joint_of:
        yield inboard_joint_of[body]
        body = scene.joints[inboard_joint_of[body]].parent
