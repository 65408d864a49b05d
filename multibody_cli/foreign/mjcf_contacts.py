"""Contacts of MJCF: friction and groups of shapes, and the pairs of bodies that touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.mjcf_model import MjcfModel


def read_contacts(model: MjcfModel) -> None:
    """Read the rules of contacts, and the pairs of bodies that never touch or have coefficients of their own."""
    arrays, draft = model.arrays, model.draft
    if not has_contacts(model):
        return
    found: dict[str, Any] = {
        "friction": usual_friction(arrays),
        "combine": {"friction": "maximum"},
        "overlap": "separate",
    }
    exclude = [[model.names[code >> 16], model.names[code & 0xFFFF]] for code in arrays.exclude_signature.tolist()]
    pairs: dict[frozenset[str], Any] = {}
    for pair, geoms in enumerate(zip(arrays.pair_geom1, arrays.pair_geom2, strict=True)):
        bodies = [model.names[arrays.geom_bodyid[geom]] for geom in geoms]
        friction = _friction(arrays.pair_dim[pair], arrays.pair_friction[pair, [0, 2, 3]])
        pairs.setdefault(frozenset(bodies), {"bodies": bodies, "friction": friction})
    apart, touching = _neighbors(model)
    excluded = {frozenset(names): names for names in [*exclude, *apart]}
    excluded = {key: names for key, names in excluded.items() if key not in pairs}  # a `pair` touches in any case
    for names in touching:
        if frozenset(names) not in excluded:
            pairs.setdefault(frozenset(names), names)
    rule = "all" if model.is_disabled("filterparent") else "auto"
    if _touches_by_masks(arrays):
        found |= {"exclude": [*excluded.values()]} if excluded else {}
        found |= {"pairs": [rule, *pairs.values()] if pairs else rule} if pairs or rule != "auto" else {}
    else:
        found["pairs"] = [*pairs.values()]
    for element in model.bodies[0].walk():
        if element.tag == "pair":
            draft.ledger.approximate(element, "coefficients of all shapes of the two bodies")
    draft.set("contacts", model.bodies[0], found)
    _note_dimensions(model)


def _note_dimensions(model: MjcfModel) -> None:
    """Note coefficients that count in MuJoCo because the other shape has more dimensions, and not in a scene."""
    arrays = model.arrays
    own, others = _masks(arrays)
    touching = (own | others) != 0
    for number, (dimension, word) in enumerate(((3, "sliding"), (4, "torsional"), (6, "rolling"))):
        has = arrays.geom_condim >= dimension
        coefficients = arrays.geom_friction[:, number]
        lost = np.zeros_like(has)
        for priority in np.unique(arrays.geom_priority):
            equal = touching & (arrays.geom_priority == priority)
            lost |= equal & ~has & (coefficients > coefficients[equal & has].min(initial=np.inf))
        if lost.any():
            model.reading.ledger.note(
                model.bodies[0].mark,
                f"{word} friction of {np.count_nonzero(lost)} shapes with a smaller `condim` counts in MuJoCo "
                "in contacts with shapes of a larger one, and not in the scene",
            )


def _neighbors(model: MjcfModel) -> tuple[list[list[str]], list[list[str]]]:
    """Return the pairs of bodies that touch in a scene, and not in MuJoCo, and the reverse, beside lists of the file.

    MuJoCo filters a rigid group of bodies and the one that carries it, unless that is fixed to the world; a scene
    filters those on both sides of a joint, loops included, and joints `fixed` that close loops hold bodies together.
    """
    arrays = model.arrays
    weld, parent = arrays.body_weldid.tolist(), arrays.body_parentid.tolist()
    own, others = _masks(arrays)
    bodies = np.unique(arrays.geom_bodyid[(own | others) != 0]).tolist()
    number = {name: body for body, name in enumerate(model.names)}
    held = np.array(weld)
    for joint in model.draft.joints.values():
        if joint.type == "fixed":
            first, second = sorted(held[[number[joint.parent], number[joint.child]]])
            held[held == second] = first

    def beside(name: str) -> list[int]:
        body = number[name]
        return [one for one in bodies if one == body or held[one] == held[body] != 0]

    def by_names(pairs: Iterable[tuple[int, int]]) -> dict[frozenset[str], list[str]]:
        named = ([model.names[first], model.names[second]] for first, second in pairs)
        return {frozenset(names): names for names in named}

    connected = by_names(
        pair
        for joint in model.draft.joints.values()
        if joint.parent != WORLD and held[number[joint.parent]] != held[number[joint.child]]
        for pair in product(beside(joint.parent), beside(joint.child))
    )
    groups: dict[int, list[int]] = {}
    for body in bodies:
        groups.setdefault(weld[body], []).append(body)
    carried = (
        pair
        for group, members in groups.items()
        if group != 0 != weld[parent[group]]
        for pair in product(groups.get(weld[parent[group]], []), members)
    )
    filtered = {} if model.is_disabled("filterparent") else by_names(carried)
    apart = [names for pair, names in filtered.items() if pair not in connected]
    together = [names for pair, names in connected.items() if pair not in filtered]
    return apart, [] if model.is_disabled("filterparent") else together


def _friction(dimension: int, coefficients: Any) -> Any:
    """Return the coefficients of friction of a contact with a dimension (`condim`): sliding, torsional, rolling."""
    sliding, torsional, rolling = coefficients.tolist()
    if dimension == 1:
        return 0.0
    further = {"torsional": torsional} if dimension >= 4 else {}
    further |= {"rolling": rolling} if dimension >= 6 else {}
    return {"static": sliding} | further if further else sliding


def usual_friction(arrays: Any) -> Any:
    """Return the coefficients of most shapes that touch, which need not be written for each."""
    own, others = _masks(arrays)
    touching = np.union1d(np.flatnonzero(own | others), [*arrays.pair_geom1, *arrays.pair_geom2]).astype(int)
    rows = Counter((int(arrays.geom_condim[geom]), *arrays.geom_friction[geom].tolist()) for geom in touching)
    if not rows:
        return 1.0
    ((dimension, *coefficients), _), *_ = rows.most_common(1)
    return _friction(dimension, np.array(coefficients))


def _groups(bits: int) -> list[str]:
    """Return the groups of a mask of 32 bits; bit 0 is the default group."""
    return ["default" if bit == 0 else f"bit_{bit}" for bit in range(32) if bits >> bit & 1]


def has_contacts(model: MjcfModel) -> bool:
    """Whether any shape may touch another one."""
    touches = _touches_by_masks(model.arrays) or len(model.arrays.pair_geom1) > 0
    return touches and not model.is_disabled("contact")


def _touches_by_masks(arrays: Any) -> bool:
    """Whether shapes touch that no `pair` lists."""
    own, others = _masks(arrays)
    return bool((own | others).any())


def _groups_by_pairs(arrays: Any) -> dict[int, tuple[list[str], list[str]]]:
    """Return groups of shapes that touch by a `pair` alone beside others, and those with which they collide."""
    own, others = _masks(arrays)
    found: dict[int, tuple[list[str], list[str]]] = {}
    if _touches_by_masks(arrays):
        for pair, (one, other) in enumerate(zip(arrays.pair_geom1.tolist(), arrays.pair_geom2.tolist(), strict=True)):
            if not own[one] & others[other] and not own[other] & others[one]:
                found.setdefault(one, ([], []))[0].append(f"pair_{pair + 1}")
                found.setdefault(other, ([], []))[1].append(f"pair_{pair + 1}")
    return found


def _masks(arrays: Any) -> tuple[Any, Any]:
    """Return `contype` and `conaffinity` of all shapes (ngeom,), without bits that no shape has on the other side."""
    own = arrays.geom_contype & np.bitwise_or.reduce(arrays.geom_conaffinity)
    return own, arrays.geom_conaffinity & np.bitwise_or.reduce(arrays.geom_contype)


def contact_fields(model: MjcfModel, geom: int) -> dict[str, Any]:
    """Return friction and groups of a shape; groups that no shape names, or is in, do not count."""
    arrays = model.arrays
    own, others = (_groups(int(masks[geom])) for masks in _masks(arrays))
    if geom in [*arrays.pair_geom1, *arrays.pair_geom2] and not _touches_by_masks(arrays):
        own = others = ["default"]
    extra = _groups_by_pairs(arrays).get(geom, ([], []))
    own, others = own + extra[0], others + extra[1]
    if not own and not others:
        return {"contact": False}
    friction = _friction(arrays.geom_condim[geom], arrays.geom_friction[geom])
    found: dict[str, Any] = {} if friction == model.friction else {"friction": friction}
    if arrays.geom_priority[geom] > arrays.geom_priority.min():
        found["priority"] = int(arrays.geom_priority[geom] - arrays.geom_priority.min())
    if own != ["default"]:
        found["groups"] = own
    if others != ["default"]:
        found["collides_with"] = others
    return found
