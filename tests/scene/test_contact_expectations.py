"""Expectations of contacts: their number and their creep at each instant."""

from __future__ import annotations

from scene_texts import BALL, load, problems

from multibody_cli.output.channel import INSTANT
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.scene.channels import OF_EACH_CONTACT, channels

START = f"mbsim: 1\nbodies: {{ball: {BALL}}}\nsimulation: {{duration: 1}}\n"
TOUCHING = START + "contacts: {}\n"


def expecting(channel, words="max: 1"):
    return f"expect: [{{channel: {channel}, {words}}}]\n"


def test_the_lists_of_scene_and_result_file_agree(tmp_path):
    known = channels(load(tmp_path, TOUCHING).scene)
    of_instants = {channel.path for channel in CONTACT_CHANNELS if channel.per == INSTANT}
    own = {path for path in of_instants if path.startswith("contacts/")}
    assert {name for name in known if name.startswith("contacts/")} == own
    assert set(OF_EACH_CONTACT) == {channel.path for channel in CONTACT_CHANNELS} - of_instants


def test_count_and_creep_can_be_expected(tmp_path):
    (creep,) = load(tmp_path, TOUCHING + expecting("contacts/creep", "max: 1 mm/s")).scene.expect
    assert creep.max == 1e-3
    assert problems(tmp_path, TOUCHING + expecting("contacts/count", "max: 4, min: 0")) == []
    assert problems(tmp_path, TOUCHING + expecting("contacts/count", "max: 4 m")) == [
        "scene.yaml:5:41: expect[0].max: expected a plain number, but `4 m` is a length"
    ]


def test_the_force_of_a_pair_can_be_expected(tmp_path):
    name = '"contacts/world:ball/force"'
    assert problems(tmp_path, TOUCHING + expecting(name, "component: z, min: 1 N")) == []
    (problem,) = problems(tmp_path, TOUCHING + expecting(name, "component: z, min: 1 m"))
    assert "`1 m` is a length" in problem
    (problem,) = problems(tmp_path, TOUCHING + expecting('"contacts/world:bal/force"', "component: z, min: 1"))
    assert problem.endswith("unknown channel `contacts/world:bal/force`; there is no body `bal`: did you mean `ball`?")
    (problem,) = problems(tmp_path, START + expecting(name, "component: z, min: 1"))
    assert problem.endswith("contacts are disabled without a section `contacts: {}`")


def test_what_contacts_dissipate_can_be_expected(tmp_path):
    known = channels(load(tmp_path, TOUCHING).scene)
    booked = {name for name in known if name.startswith("energy/dissipation/")}
    assert booked == {"energy/dissipation/contacts/friction", "energy/dissipation/contacts/impact"}
    assert problems(tmp_path, TOUCHING + expecting("energy/dissipation/contacts/impact", "max: 1 J")) == []


def test_results_contain_contacts_by_default(tmp_path):
    assert "contacts" in load(tmp_path, TOUCHING).scene.output.channels


def test_flat_channels_are_refused_with_a_message(tmp_path):
    for name in OF_EACH_CONTACT:
        assert problems(tmp_path, TOUCHING + expecting(name)) == [
            f"scene.yaml:5:20: expect[0].channel: `{name}` has one value per contact, not per instant: "
            "use `contacts/count` or `contacts/creep`"
        ]


def test_expectations_of_contacts_need_contacts(tmp_path):
    assert problems(tmp_path, START + expecting("contacts/creep")) == [
        "scene.yaml:4:20: expect[0].channel: unknown channel `contacts/creep`: "
        "contacts are disabled without a section `contacts: {}`"
    ]


def test_invalid_contacts_cause_no_further_messages(tmp_path):
    (problem,) = problems(tmp_path, START + "contacts: {friction: -1}\n" + expecting("contacts/creep"))
    assert "contacts.friction" in problem
