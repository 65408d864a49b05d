"""Joints and constraints of a scene that may be nodes of the elimination tree of Baraff's method.

A node has the rows of one joint or of one constraint, and is between two bodies, of which one may be the ground.  Its
rows must be independent for the body that is eliminated first, with the other one at rest.  The rows of a joint are,
and so is a single row on bodies that support any wrench.  Where independence depends on the position, as for a row
that may be normal to the plane of a planar body, the method decides at each factorization.
"""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.kkt.nodes import MAX_ROWS
from multibody_cli.packing.constraint_bases import constraint_axes_of
from multibody_cli.packing.layout import Candidate, common_normal, joint_data
from multibody_cli.scene.schema import SceneSpec


def candidates_of(scene: SceneSpec, with_constraints: bool) -> list[Candidate]:
    """Return the joints that may be nodes, then the constraints if they are nodes of the method, in scene order."""
    found = [
        Candidate("joints", name, (joint.child, joint.parent), True)
        for name, joint in scene.joints.items()
        if has_independent_rows(scene, joint)
    ]
    return [*found, *_constraints_of(scene)] if with_constraints else found


def has_independent_rows(scene: SceneSpec, joint: JointSpec) -> bool:
    """Whether the rows of a joint are independent for each of its bodies alone.

    They are dependent between a planar body and a body that leaves its plane, since a force across the plane moves only
    one of the two.
    """
    normal = common_normal(scene, joint)
    kinds = [scene.bodies[name].kind for name in (joint.parent, joint.child) if name != WORLD]
    parts, _, driven, _, _ = joint_data(joint)
    found = constraint_axes_of(parts, driven, normal)
    return len(found) > 0 and (normal is not None or "planar" not in kinds)


def _constraints_of(scene: SceneSpec) -> Iterator[Candidate]:
    for name, spec in scene.constraints.items():
        ends = _ends_of(spec)
        if spec.active and ends is not None and spec.row_count <= MAX_ROWS and not spec.one_sided:
            planar = any(scene.bodies[end].kind == "planar" for end in ends if end != WORLD)
            certain = spec.row_count == 1 and not planar and not spec.VANISHES
            yield Candidate("constraints", name, ends, certain)


def _ends_of(spec: ConstraintSpec) -> tuple[str, str] | None:
    """Return two bodies, or one and the world.

    None if a constraint names others or coordinates; or, if its rows do not vanish, a body twice or more than two
    points.
    """
    named = [body for _, body in spec.bodies if body != WORLD]
    ends = list(dict.fromkeys(named))
    is_plain = len(spec.points) <= 2 and len(ends) == len(named)
    if spec.coordinates or not 1 <= len(ends) <= 2 or not (is_plain or spec.VANISHES):
        return None
    return ends[0], ends[1] if len(ends) == 2 else WORLD
