"""What a scene may expect of its contacts: their number and how they creep, at each instant."""

from __future__ import annotations

import pytest
from writing import BALL, load, problems

from multibody_cli.output.channel import INSTANT
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.scene.channels import OF_EACH_CONTACT, channels
from multibody_cli.scene.load import load_scene

START = f"mbsim: 1\nbodies: {{ball: {BALL}}}\nsimulation: {{duration: 1}}\n"
TOUCHING = START + "contacts: {}\n"


def expecting(channel, words="max: 1"):
    return f"expect: [{{channel: {channel}, {words}}}]\n"


def test_the_lists_of_scene_and_result_file_agree(tmp_path):
    known = channels(load(tmp_path, TOUCHING).scene)
    of_instants = {channel.path for channel in CONTACT_CHANNELS if channel.per == INSTANT}
    assert {name for name in known if name.startswith("contacts/")} == of_instants
    assert set(OF_EACH_CONTACT) == {channel.path for channel in CONTACT_CHANNELS} - of_instants


def test_count_and_creep_can_be_expected(tmp_path):
    (creep,) = load(tmp_path, TOUCHING + expecting("contacts/creep", "max: 1 mm/s")).scene.expect
    assert creep.max == 1e-3
    assert problems(tmp_path, TOUCHING + expecting("contacts/count", "max: 4, min: 0")) == []
    assert problems(tmp_path, TOUCHING + expecting("contacts/count", "max: 4 m")) == [
        "scene.yaml:5:41: expect[0].max: expected a plain number, but `4 m` is a length"
    ]


def test_what_contacts_dissipate_can_be_expected(tmp_path):
    known = channels(load(tmp_path, TOUCHING).scene)
    booked = {name for name in known if name.startswith("energy/dissipation/")}
    assert booked == {"energy/dissipation/contacts/friction", "energy/dissipation/contacts/impact"}
    assert problems(tmp_path, TOUCHING + expecting("energy/dissipation/contacts/impact", "max: 1 J")) == []


def test_results_hold_contacts_unless_told_otherwise(tmp_path):
    assert "contacts" in load(tmp_path, TOUCHING).scene.output.channels


def test_flat_channels_are_refused_in_words(tmp_path):
    for name in OF_EACH_CONTACT:
        assert problems(tmp_path, TOUCHING + expecting(name)) == [
            f"scene.yaml:5:20: expect[0].channel: `{name}` has one value per contact, not per instant: "
            "use `contacts/count` or `contacts/creep`"
        ]


def test_without_contacts_there_is_nothing_to_expect_of_them(tmp_path):
    assert problems(tmp_path, START + expecting("contacts/creep")) == [
        "scene.yaml:4:20: expect[0].channel: unknown channel `contacts/creep`: "
        "contacts are disabled without a section `contacts: {}`"
    ]


@pytest.mark.parametrize("sides", [2, 5, 0])
def test_a_polygon_of_friction_has_an_even_number_of_sides(tmp_path, sides):
    passes = "contacts: {method: staggered_projections, sides: %s}\n"
    assert len(problems(tmp_path, START + passes % sides)) == 1
    assert problems(tmp_path, START + passes % 6) == []


def test_the_proximal_method_knows_no_polygons(tmp_path):
    (problem,) = problems(tmp_path, START + "contacts: {sides: 6}\n")
    assert problem.endswith("circular friction cones: polygons need `method: staggered_projections`")


def test_contacts_that_are_wrong_are_told_alone(tmp_path):
    (problem,) = problems(tmp_path, START + "contacts: {friction: -1}\n" + expecting("contacts/creep"))
    assert "contacts.friction" in problem


def test_a_method_of_contacts_that_friction_of_a_joint_overrules_is_told(tmp_path):
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "mbsim: 1\ncontacts: {method: staggered_projections}\n"
        "bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}, shapes: [{type: sphere, radius: 0.1}]}}\n"
        "joints: {pin: {type: revolute, child: a, friction: {coefficient: 0.3, surface: {radius: 0.01, length: 1}}}}\n"
        "simulation: {duration: 1}\n",
        encoding="utf-8",
    )
    (warning,) = load_scene(scene).warnings
    assert "contacts.method" in warning
    assert "`pin`" in warning
