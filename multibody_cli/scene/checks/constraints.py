"""Couplings and constraints: they name bodies and coordinates that exist, and of the kinds that they need."""

from __future__ import annotations

from multibody_cli.constraints.contract import ConstraintSpec, split_coordinate
from multibody_cli.document.nodes import Path
from multibody_cli.errors import QuantityError, nearest
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.scene.checks.draft import Draft

_SECTIONS = ("couplings", "constraints")


def check_constraints(draft: Draft) -> None:
    """Check every coupling and every constraint."""
    for section in _SECTIONS:
        for name, spec in getattr(draft.scene, section).items():
            _check_bodies(draft, (section, name), spec)
            _check_coordinates(draft, (section, name), spec)


def _check_bodies(draft: Draft, path: Path, spec: ConstraintSpec) -> None:
    for place, body in spec.bodies:
        if draft.require_body(body, (*path, *place)) and body == WORLD and not spec.RELATIVE:
            draft.tell((*path, *place), "the world does not move: name a body")
    if spec.RELATIVE and len({body for _, body in spec.bodies}) == 1:
        place, body = spec.bodies[-1]
        draft.tell((*path, *place), f"both are in `{body}`, where nothing moves: name two different bodies")


def _check_coordinates(draft: Draft, path: Path, spec: ConstraintSpec) -> None:
    found: dict[tuple[str, int], str] = {}
    for place, word in spec.coordinates:
        coordinate = _find(draft, (*path, *place), word)
        if coordinate is None:
            continue
        joint, k = coordinate
        if coordinate in found:
            draft.tell((*path, *place), f"`{word}` is named twice")
        found[coordinate] = draft.scene.joints[joint].coordinates[k]
    if not found or len(found) < len(spec.coordinates):
        return
    kinds = list(found.values())
    if objection := spec.objection(kinds):
        draft.tell(path, objection)
    elif expected := spec.quantity(kinds):
        field, quantity = expected
        try:
            quantity.read(draft.data[str(path[0])][path[1]].get(field, 0.0))
        except QuantityError as error:
            draft.tell((*path, field), str(error))


def _find(draft: Draft, path: Path, word: str) -> tuple[str, int] | None:
    """Find the joint of a coordinate and its index; None where something is wrong, which is told unless it was."""
    name, index = split_coordinate(word)
    if name not in draft.names("joints"):
        draft.tell(path, f"there is no joint `{name}`; {nearest(name, draft.names('joints'))}")
        return None
    joint = draft.scene.joints.get(name)
    if joint is None:
        return None
    words = _words(name, joint)
    if word in words:
        return name, words[word]
    if not joint.coordinates:
        draft.tell(path, f"`{name}` is fixed: it has no coordinate")
    elif not words:
        draft.tell(
            path,
            f"the rotation of `{name}` is held as a whole: no coordinate of it is a number of its own; "
            "use `parametrization: euler_xzx`, or a `universal` or `composite` joint",
        )
    else:
        choice = ", ".join(f"`{one}`" for one in words)
        said = f"has no coordinate `{index}` of its own" if index else f"has {len(joint.coordinates)} coordinates"
        draft.tell(path, f"`{name}` {said}: expected {'one of ' if len(words) > 1 else ''}{choice}")
    return None


def _words(name: str, joint: JointSpec) -> dict[str, int]:
    """Give the words of the coordinates of a joint, and their indices."""
    if len(joint.coordinates) == 1:
        return {name: 0, f"{name}/0": 0}
    return {f"{name}/{k}": k for k, plain in enumerate(joint.plain) if plain}
