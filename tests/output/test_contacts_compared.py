"""Comparison of the contacts of two runs: paired by bodies and point, independent of order."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from fakes import CROWD, TOUCHING, names_of, record, samples_of

from multibody_cli.cli.app import main
from multibody_cli.comparison.compare import compare_files
from multibody_cli.comparison.tolerance import Policy, Rule
from multibody_cli.output.channel import CONTACT
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import Outcome, ThinningSink
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
SAMPLES = samples_of(TOUCHING, TIME, seed=8)
DONE = Outcome("complete")
FIELDS = tuple(channel.field for channel in CONTACT_CHANNELS if channel.per == CONTACT and channel.field)


def changed(**columns):
    """The samples with some columns of their own."""
    return SAMPLES._replace(**{name: column.copy() for name, column in columns.items()})


@pytest.fixture
def compared(tmp_path):
    def compare(result, names=TOUCHING, reference=SAMPLES, policy=None, channels=None):
        record(Hdf5Sink(tmp_path / "reference.h5", channels, force=True), TOUCHING, reference, DONE)
        record(Hdf5Sink(tmp_path / "result.h5", channels, force=True), names, result, DONE)
        return compare_files(tmp_path / "reference.h5", tmp_path / "result.h5", policy)

    return compare


def differing(comparison):
    return [finding.path for finding in comparison.findings if finding.differs]


def test_the_order_of_contacts_in_a_file_is_irrelevant(compared):
    shuffled = {name: getattr(SAMPLES, name).copy() for name in FIELDS}
    generator = np.random.default_rng(0)
    for k, count in enumerate(SAMPLES.contact_count):
        order = generator.permutation(count)
        for column in shuffled.values():
            column[k, :count] = column[k, order]
    assert any((shuffled[name] != getattr(SAMPLES, name)).any() for name in FIELDS)
    comparison = compared(SAMPLES._replace(**shuffled))
    assert comparison.same
    numbers = {finding.path: finding.compared for finding in comparison.findings}
    contacts = int(SAMPLES.contact_count.sum())
    assert (numbers["contacts/gap"], numbers["contacts/point"]) == (contacts, 3 * contacts)
    assert numbers["contacts/count"] == numbers["contacts/creep"] == 25
    # whose contacts they are is no number of the run
    assert not {"contacts/offset", "contacts/instant"} & set(numbers)


def test_a_difference_is_that_of_one_contact_at_one_instant(compared):
    gap = SAMPLES.contact_gap.copy()
    k = int(np.argmax(SAMPLES.contact_count > 2))
    gap[k, 2] += 0.5
    comparison = compared(changed(contact_gap=gap))
    assert differing(comparison) == ["contacts/gap"]
    (finding,) = (finding for finding in comparison.findings if finding.differs)
    assert (finding.exceeding, finding.worst.time) == (1, TIME[k])
    assert finding.worst.place.difference == pytest.approx(0.5)
    names = ["world", *TOUCHING.bodies]
    pair = sorted([SAMPLES.contact_body_a[k, 2], SAMPLES.contact_body_b[k, 2]])
    assert str(finding.worst) == f"contact of {names[pair[0] + 1]} and {names[pair[1] + 1]}"


def test_rows_beyond_the_contacts_of_an_instant_are_ignored(compared):
    gap = SAMPLES.contact_gap.copy()
    gap[np.arange(7) >= SAMPLES.contact_count[:, None]] = 99.0
    assert compared(changed(contact_gap=gap)).same


def test_a_changed_mode_is_reported_as_the_cause(compared):
    impulses = {name: getattr(SAMPLES, name).copy() for name in FIELDS if name.endswith("impulse")}
    mode = SAMPLES.contact_mode.copy()
    mode[5, 0] = (mode[5, 0] + 1) % 3
    for impulse in impulses.values():
        impulse[5, 0] += 1e6
    comparison = compared(changed(contact_mode=mode, **impulses))
    assert comparison.first_difference.time == TIME[5]
    found = [finding.path for finding in comparison.first_difference.findings]
    assert found[0] == "contacts/mode"
    assert set(found[1:]) == {f"contacts/{name}_impulse" for name in ("normal", "tangential", "moment")}


def test_a_contact_missing_in_one_run_is_a_difference(compared):
    count = SAMPLES.contact_count.copy()
    assert count[12] > 0
    count[12] -= 1
    comparison = compared(changed(contact_count=count))
    assert {"contacts/count", "contacts/point", "contacts/mode"} <= set(differing(comparison))
    assert comparison.first_difference.time == TIME[12]


def test_the_order_of_bodies_is_irrelevant(compared):
    """The same run with its bodies in the other order, and A and B exchanged with them."""
    names = names_of(bodies=TOUCHING.bodies[::-1], contacts=TOUCHING.contacts)
    a, b = SAMPLES.contact_body_a, SAMPLES.contact_body_b
    # a body touches another one or the world
    a, b = np.where(a == b, -1, a), np.where(a == b, 0, b)
    reference = SAMPLES._replace(contact_body_a=a, contact_body_b=b)
    per_body = (
        *("position", "quaternion", "linear_velocity", "angular_velocity"),
        *("contact_force", "contact_torque"),
    )
    result = reference._replace(
        contact_body_a=np.where(b < 0, -1, 1 - b),
        contact_body_b=np.where(a < 0, -1, 1 - a),
        contact_normal=-SAMPLES.contact_normal,
        contact_tangential_impulse=-SAMPLES.contact_tangential_impulse,
        contact_moment_impulse=-SAMPLES.contact_moment_impulse,
        **{name: getattr(SAMPLES, name)[:, ::-1] for name in per_body},
    )
    of_contacts = {channel.path for channel in CONTACT_CHANNELS}
    comparison = compared(result, names=names, reference=reference)
    assert not of_contacts & set(differing(comparison))
    wrong = result._replace(contact_normal=SAMPLES.contact_normal)
    assert differing(compared(wrong, names=names, reference=reference))[0] == "contacts/normal"


def test_the_order_of_the_two_bodies_is_irrelevant(compared):
    distinct = SAMPLES.contact_body_a != SAMPLES.contact_body_b
    turned = np.where(distinct, -1.0, 1.0)[:, :, None]
    result = SAMPLES._replace(
        contact_body_a=SAMPLES.contact_body_b,
        contact_body_b=SAMPLES.contact_body_a,
        contact_normal=turned * SAMPLES.contact_normal,
        contact_tangential_impulse=turned * SAMPLES.contact_tangential_impulse,
        contact_moment_impulse=turned * SAMPLES.contact_moment_impulse,
    )
    assert compared(result).same
    found = compared(result._replace(contact_tangential_impulse=SAMPLES.contact_tangential_impulse))
    assert differing(found) == ["contacts/tangential_impulse"]


def test_flat_datasets_are_recognized_without_their_attribute(tmp_path):
    for name in ("whole.h5", "bare.h5"):
        record(Hdf5Sink(tmp_path / name), TOUCHING, SAMPLES, DONE)
    with h5py.File(tmp_path / "bare.h5", "r+") as file:
        for dataset in file["contacts"].values():
            dataset.attrs.pop("per", None)
        assert not any("per" in dataset.attrs for dataset in file["contacts"].values())
    whole, bare = (read_trajectory(tmp_path / name) for name in ("whole.h5", "bare.h5"))
    assert {path: bare.channel(path).per for path in bare.paths} == {
        path: whole.channel(path).per for path in whole.paths
    }
    comparisons = [compare_files(tmp_path / "whole.h5", tmp_path / name) for name in ("whole.h5", "bare.h5")]
    assert comparisons[0].findings == comparisons[1].findings


def test_contacts_of_an_additional_body_are_reported(compared):
    names = names_of(bodies=("arm", "foot"), contacts=TOUCHING.contacts)
    comparison = compared(SAMPLES, names=names)
    assert not comparison.same
    places = {str(finding.worst) for finding in comparison.findings if finding.path == "contacts/gap"}
    assert any("foot" in place or "hand" in place for place in places)


def test_other_output_instants_are_paired_by_their_times(tmp_path):
    record(Hdf5Sink(tmp_path / "all.h5"), CROWD, samples_of(CROWD, TIME), DONE)
    record(ThinningSink(Hdf5Sink(tmp_path / "some.h5"), 4, 24), CROWD, samples_of(CROWD, TIME), DONE)
    for pair in (("all.h5", "some.h5"), ("some.h5", "all.h5")):
        comparison = compare_files(*(tmp_path / name for name in pair))
        assert comparison.instants[0] == 7
        # accounts and residuals are counted from the first instant, which both have
        assert differing(comparison) == []


def test_an_incomplete_file_is_compared_up_to_its_last_complete_instant(tmp_path):
    record(Hdf5Sink(tmp_path / "all.h5"), TOUCHING, SAMPLES, DONE)
    record(Hdf5Sink(tmp_path / "part.h5"), TOUCHING, SAMPLES, DONE)
    with h5py.File(tmp_path / "part.h5", "r+") as file:
        file["contacts/normal"].resize(int(file["contacts/offset"][11]) - 1, axis=0)
    comparison = compare_files(tmp_path / "all.h5", tmp_path / "part.h5")
    assert comparison.instants == (10, 25, 10)
    assert differing(comparison) == []


def test_ignored_datasets_are_reported_and_contacts_are_still_paired(compared):
    gap, point = SAMPLES.contact_gap + 1.0, SAMPLES.contact_point + 1e-4
    rules = tuple(Rule(f"contacts/{name}", None, None, True, "policy.yaml:1:1") for name in ("gap", "point"))
    comparison = compared(changed(contact_gap=gap, contact_point=point), policy=Policy(rules=rules))
    assert comparison.same
    assert {"contacts/gap is ignored (policy.yaml:1:1)", "contacts/point is ignored (policy.yaml:1:1)"} <= set(
        comparison.notes
    )
    assert "contacts/mode" in {finding.path for finding in comparison.findings}


def test_unpaired_contacts_are_reported(compared):
    comparison = compared(SAMPLES, channels=["contacts/gap", "contacts/body_a"])
    assert "contacts are not compared: pairing requires contacts/body_b, contacts/point in both files" in (
        comparison.notes
    )


def test_contact_datasets_missing_in_one_run_are_reported(compared, tmp_path):
    names = names_of()
    result = SAMPLES._replace(**{name: getattr(SAMPLES, name)[:, :0] for name in FIELDS})
    comparison = compared(result._replace(contact_count=0 * SAMPLES.contact_count), names=names)
    assert {f"{channel.path} is missing from the result" for channel in CONTACT_CHANNELS[:2]} <= set(
        comparison.mismatches
    )
    assert "contacts/point is missing from the result" in comparison.mismatches


def test_the_picture_shows_what_changes_in_time(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    other = SAMPLES._replace(contact_gap=SAMPLES.contact_gap + 1.0, creep=SAMPLES.creep + 1.0)
    record(Hdf5Sink("one.h5"), TOUCHING, SAMPLES, DONE)
    record(Hdf5Sink("other.h5"), TOUCHING, other, DONE)
    with pytest.raises(SystemExit) as end:
        main(["compare", "one.h5", "other.h5", "--plot", "both.svg"])
    assert end.value.code == 1, capsys.readouterr().err
    assert (tmp_path / "both.svg").exists()
