"""Which shapes of a scene can touch.

Two shapes can touch if

    their bodies are a pair of `pairs`, and not one of `exclude`,
    their bodies are not held together by fixed joints, as two bodies fixed to the world are,
    one of them collides with a group of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import combinations, product

from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.contacts import ContactsSpec, Pair
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes.contract import DEFAULT_GROUP

ANY = "*"
"""Wildcard of names in `exclude`."""


def excluded_pairs(scene: SceneSpec, settings: ContactsSpec) -> Iterator[Pair]:
    """Yield the pairs of bodies without contacts, in any order, and some of them more than once."""
    names = (WORLD, *scene.bodies)
    for first, second in settings.exclude:
        yield from product(matching(first, names), matching(second, names))
    listed = {frozenset(pair.bodies) for pair in settings.listed.values()}
    among: Iterable[Pair] = combinations(names, 2)
    if "all" in settings.pairs:
        among = ()
    elif "auto" in settings.pairs:
        among = (pair for parents, children in _neighbours(scene) for pair in product(parents, children))
    yield from (pair for pair in among if frozenset(pair) not in listed)


def count_excluded_pairs(scene: SceneSpec, settings: ContactsSpec) -> int:
    """Return the number of pairs that `excluded_pairs` yields, at most."""
    names = (WORLD, *scene.bodies)
    count = sum(len(matching(first, names)) * len(matching(second, names)) for first, second in settings.exclude)
    if "all" in settings.pairs:
        return count
    if "auto" in settings.pairs:
        return count + sum(len(parents) * len(children) for parents, children in _neighbours(scene))
    return count + math.comb(len(names), 2)


def _neighbours(scene: SceneSpec) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the bodies on both sides of each joint, with those that fixed joints hold together with them.

    A joint to the world excludes nothing, and bodies fixed to the world have the neighbours of each body alone: a table
    and the base of an arm, both fixed to it, are not one body.
    """
    weld = welds(scene)
    parts: dict[str, list[str]] = {}
    for name, first in weld.items():
        parts.setdefault(first, []).append(name)
    parts[weld[WORLD]] = []
    for joint in scene.joints.values():
        ends = joint.parent, joint.child
        if (
            joint.parent != WORLD
            and {joint.parent, joint.child} <= weld.keys()
            and weld[joint.parent] != weld[joint.child]
        ):
            parents, children = (parts[weld[name]] or [name] for name in ends)
            yield parents, children


def matching(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern matches."""
    return [one for one in names if one == name or (ANY in name and fnmatchcase(one, name.replace("[", "[[]")))]


def welds(scene: SceneSpec) -> dict[str, str]:
    """Return, by body, the first of the bodies that fixed joints hold together with it, or the world."""
    first = {name: name for name in (WORLD, *scene.bodies)}

    def root(name: str) -> str:
        while first[name] != name:
            name = first[name] = first[first[name]]
        return name

    order = {name: number for number, name in enumerate(first)}
    for joint in scene.joints.values():
        if joint.type == "fixed" and {joint.parent, joint.child} <= first.keys():
            low, high = sorted((root(joint.parent), root(joint.child)), key=order.__getitem__)
            first[high] = low
    return {name: root(name) for name in first}


def group_bits(scene: SceneSpec) -> dict[str, int]:
    """Return the bit of each group of shapes."""
    shapes = [*scene.world.shapes, *(shape for body in scene.bodies.values() for shape in body.shapes)]
    names = [name for shape in shapes for name in (*shape.groups, *shape.collides_with)]
    return {name: 1 << bit for bit, name in enumerate(dict.fromkeys([DEFAULT_GROUP, *names]))}
