"""Which shapes can touch: pairs, exclusions, groups, and bodies that fixed joints hold together."""

from __future__ import annotations

from itertools import combinations

import pytest
from scene_texts import load

from multibody_cli.compile import compile_scene
from multibody_cli.contacts.grid import may_touch

pytestmark = pytest.mark.plain

BODIES = "abcd"
CHAIN = "fixed:ab fixed:bc revolute:bd"


def touching(folder, contacts="{}", joints="", **shapes):
    """Pairs of bodies that can touch, as in `ab`, with `w` for the world; each body has one ball, far from the others.

    `joints` are words such as `fixed:ab` and `revolute:wa`, and `shapes` more fields of the ball of a body.
    """
    parents = {word[-1]: word for word in joints.split()}
    lines = ["mbsim: 1", f"contacts: {contacts}", "simulation: {duration: 1}", "world: {shapes: [{type: plane}]}"]
    lines += ["bodies:"]
    for k, name in enumerate(BODIES):
        place = "" if name in parents else f"position: [{k}, 0, 1], "
        fields = ", ".join(["type: sphere, radius: 0.1", *filter(None, [shapes.get(name)])])
        lines += [f"  {name}: {{mass: 1, {place}shapes: [{{{fields}}}]}}"]
    lines += ["joints:" if parents else "joints: {}"]
    for child, word in parents.items():
        kind, (parent, _) = word.split(":")
        axis = ", axis: [0, 1, 0]" if kind == "revolute" else ""
        x = BODIES.index(child) - (BODIES.index(parent) if parent in BODIES else 0)
        origin = f"{{position: [{x}, 0, {1 if parent == 'w' else 0}]}}"
        ends = f"child: {child}" if parent == "w" else f"parent: {parent}, child: {child}"
        lines += [f"  {child}: {{type: {kind}, {ends}{axis}, origin: {origin}}}"]
    model = compile_scene(load(folder, "\n".join(lines))).model
    geometry, names = model.system.contacts.geometry, {0: "w"}
    names |= {int(row): name for row, name in zip(model.names.body_rows, BODIES, strict=True)}
    geoms = sorted(geometry.geoms, key=lambda geom: names[int(geom.body)])
    found = [
        names[int(one.body)] + names[int(other.body)]
        for one, other in combinations(geoms, 2)
        if may_touch(one, other, geometry.excluded)
    ]
    return " ".join(found)


@pytest.mark.parametrize(
    ("contacts", "expected"),
    [
        ("{}", "ac ad aw bc bd bw cd cw dw"),
        ("{pairs: auto}", "ac ad aw bc bd bw cd cw dw"),
        ("{pairs: all}", "ab ac ad aw bc bd bw cd cw dw"),
        ("{pairs: [[a, b], [world, c]]}", "ab cw"),
        ("{pairs: [auto, [b, a]]}", "ab ac ad aw bc bd bw cd cw dw"),
        ("{exclude: [[c, world], [d, a]]}", "ac aw bc bd bw cd dw"),
        ('{exclude: [[a, "*"], ["*", world]]}', "bc bd cd"),
        ('{pairs: [[a, b], [c, d]], exclude: [[a, "b*"]]}', "cd"),
        ("{pairs: []}", ""),
    ],
)
def test_pairs_and_exclusions(tmp_path, contacts, expected):
    assert touching(tmp_path, contacts, "revolute:ab") == expected


def test_bodies_that_fixed_joints_hold_together_do_not_touch(tmp_path):
    """The joint of b and d separates d from all of them, as they are one body."""
    assert touching(tmp_path, joints=CHAIN) == "aw bw cw dw"


def test_what_is_fixed_to_the_world_has_no_common_neighbours(tmp_path):
    """A table a and the base b of an arm: its first link d may touch the table."""
    assert touching(tmp_path, joints="fixed:wa fixed:wb revolute:bd") == "ac ad bc cd cw dw"


def test_bodies_that_are_fixed_to_the_world_touch_neither_it_nor_each_other(tmp_path):
    assert touching(tmp_path, joints="fixed:wa fixed:wb") == "ac ad bc bd cd cw dw"


def test_a_group_does_not_collide_with_itself(tmp_path):
    """The shapes of a robot touch everything but each other."""
    assert touching(tmp_path, a="groups: [robot]", b="groups: [robot]") == "ac ad aw bc bd bw cd cw dw"


def test_one_of_two_shapes_collides_with_a_group_of_the_other(tmp_path):
    """As `contype` and `conaffinity` of MuJoCo: a names the group of b, c names no group, and d is in none."""
    found = touching(
        tmp_path,
        a="groups: [left], collides_with: [right, default]",
        b="groups: [right, other], collides_with: []",
        c="collides_with: []",
        d="groups: [], collides_with: [other]",
    )
    assert found == "ab ac aw bd cw"
