"""Contacts: their order does not matter, one that is missing does, and a change of mode is told first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import changed, with_contacts, write_run

from multibody_cli.comparison.compare import Comparison, compare_files
from multibody_cli.comparison.tolerance import Policy, Rule
from multibody_cli.errors import ResultError
from multibody_cli.output.trajectory import read_trajectory

TIME = np.arange(4) / 10
TOUCH: dict[str, Any] = {"body_a": 0, "body_b": -1, "point": (0.1, 0.2, 0.3), "normal_impulse": 2.0}
PUSH: dict[str, Any] = {"body_a": 1, "body_b": 0, "point": (1.0, 0.0, 0.0), "normal_impulse": 3.0}
EDGE: dict[str, Any] = {"body_a": 0, "body_b": -1, "point": (0.1, 0.2, 0.4), "normal_impulse": 5.0}
USUAL: list[list[dict[str, Any]]] = [[], [TOUCH, PUSH, EDGE], [TOUCH], [PUSH, EDGE]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.h5", TIME)


def compared(run: Path, one: list[list[dict[str, Any]]], other: list[list[dict[str, Any]]]) -> Comparison:
    reference = with_contacts(run, run.with_name("one.h5"), one)
    return compare_files(reference, with_contacts(run, run.with_name("other.h5"), other))


def test_their_order_does_not_matter(run: Path) -> None:
    found = compared(run, USUAL, [[], [EDGE, TOUCH, PUSH], [TOUCH], [EDGE, PUSH]])
    assert found.same
    assert {finding.path: finding.compared for finding in found.findings}["contacts/point"] == 6 * 3


def test_a_changed_mode_is_the_first_thing_told(run: Path) -> None:
    slips = {**EDGE, "mode": 2, "normal_impulse": 9.0}
    found = compared(run, USUAL, [[], [TOUCH, PUSH, slips], [TOUCH], [PUSH, EDGE]])
    assert found.parting is not None
    first = found.parting.findings[0]
    assert (found.parting.time, first.path, first.role) == (0.1, "contacts/mode", "contact mode")
    assert str(first.parted) == "contact of world and arm"
    assert [finding.path for finding in found.parting.findings] == ["contacts/mode", "contacts/normal_impulse"]


def test_a_moved_contact_is_named_with_its_bodies_and_component(run: Path) -> None:
    moved = {**PUSH, "point": (1.0, 0.0, 1e-3)}
    found = compared(run, USUAL, [[], [TOUCH, moved, EDGE], [TOUCH], [PUSH, EDGE]])
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/point"]
    assert found.parting is not None
    assert str(found.parting.findings[0].worst) == "contact of arm and hand 2"


@pytest.mark.parametrize("swapped", [False, True])
def test_a_missing_contact_is_a_difference_of_all_its_numbers(run: Path, swapped: bool) -> None:
    pair = (USUAL, [[], [TOUCH, EDGE], [TOUCH], [PUSH, EDGE]])
    found = compared(run, *(reversed(pair) if swapped else pair))
    differing = [finding for finding in found.findings if finding.differs]
    assert {finding.path for finding in differing} >= {"contacts/mode", "contacts/point", "contacts/normal_impulse"}
    assert all(finding.parted and finding.parted.time == 0.1 for finding in differing)
    assert all(finding.parted and finding.parted.body == "contact of arm and hand" for finding in differing)


def test_bodies_count_by_name_whatever_their_order(run: Path) -> None:
    one = with_contacts(run, run.with_name("one.h5"), USUAL)

    def reorder(file: Any) -> None:
        order = [2, 0, 1]
        file["bodies/name"][:] = [file["bodies/name"].asstr()[:][body] for body in order]
        for name in ("com_offset", "position", "quaternion", "linear_velocity", "angular_velocity"):
            values = file[f"bodies/{name}"][:]
            file[f"bodies/{name}"][...] = values[order] if values.ndim == 2 else values[:, order]
        for name in ("body_a", "body_b"):
            bodies = file[f"contacts/{name}"][:]
            file[f"contacts/{name}"][:] = np.where(bodies < 0, bodies, np.argsort(order)[bodies])

    other = changed(one, run.with_name("other.h5"), reorder)
    found = compare_files(one, other)
    assert read_trajectory(other).bodies == ("blob", "arm", "hand")
    assert found.same
    assert not any(finding.worst for finding in found.findings)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_point_that_is_no_number_differs_from_one_that_is(run: Path, number: float) -> None:
    lost = {**EDGE, "point": (number, 0.2, 0.4)}
    found = compared(run, USUAL, [[], [lost, TOUCH, PUSH], [TOUCH], [PUSH, EDGE]])
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/point"]
    assert compared(run, [[], [lost], [], []], [[], [lost], [], []]).same


def test_all_but_their_points_can_be_compared(run: Path) -> None:
    reference = with_contacts(run, run.with_name("one.h5"), USUAL)
    moved = {**PUSH, "point": (1.0, 0.0, 1e-3), "normal_impulse": 4.0}
    result = with_contacts(run, run.with_name("other.h5"), [[], [TOUCH, moved, EDGE], [TOUCH], [PUSH, EDGE]])
    rule = Rule("contacts/point", None, None, True, "policy.yaml:1:1")
    found = compare_files(reference, result, Policy(rules=(rule,)))
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/normal_impulse"]
    assert "contacts/point is ignored (policy.yaml:1:1)" in found.notes


def test_contacts_that_one_run_lacks(run: Path) -> None:
    touching = with_contacts(run, run.with_name("one.h5"), USUAL)
    assert "contacts/mode is missing from the result" in compare_files(touching, run).mismatches
    found = compare_files(run, touching)
    assert found.same
    assert any(note.startswith("only in the result: contacts/") for note in found.notes)


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("offset", "is damaged or truncated ('there is no `contacts/offset`'); run the scene again"),
        ("point", "has contacts without contacts/point; run the scene again with all of `contacts` recorded"),
        ("body_b", "has contacts without contacts/body_b; run the scene again with all of `contacts` recorded"),
    ],
)
def test_contacts_without_what_tells_them_apart_are_refused(run: Path, lost: str, said: str) -> None:
    whole = with_contacts(run, run.with_name("one.h5"), USUAL)

    def lose(file: Any) -> None:
        del file["contacts"][lost]

    damaged = changed(whole, run.with_name("other.h5"), lose)
    with pytest.raises(ResultError) as error:
        compare_files(whole, damaged)
    assert str(error.value) == f"{damaged} {said}"


def test_contacts_take_no_instants_from_the_rest_of_the_file(run: Path) -> None:
    touching = with_contacts(run, run.with_name("one.h5"), [[], [TOUCH], [], []])
    assert len(read_trajectory(touching).time) == 4
    assert compare_files(touching, run).instants == (4, 4, 4)
