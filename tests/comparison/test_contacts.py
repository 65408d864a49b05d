"""Comparison of contacts: independent of order, sensitive to missing contacts, changed modes reported first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from result_files import changed, with_contacts, write_run

from multibody_cli.comparison.compare import Comparison, compare_files
from multibody_cli.comparison.tolerance import Policy, Rule
from multibody_cli.errors import ResultError
from multibody_cli.output.trajectory import read_trajectory

TIME = np.arange(4) / 10
TOUCH: dict[str, Any] = {"body_a": 0, "body_b": -1, "point": (0.1, 0.2, 0.3), "normal_impulse": 2.0}
SLIDING: dict[str, Any] = {"body_a": 1, "body_b": 0, "point": (1.0, 0.0, 0.0), "normal_impulse": 3.0}
EDGE: dict[str, Any] = {"body_a": 0, "body_b": -1, "point": (0.1, 0.2, 0.4), "normal_impulse": 5.0}
USUAL: list[list[dict[str, Any]]] = [[], [TOUCH, SLIDING, EDGE], [TOUCH], [SLIDING, EDGE]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.h5", TIME)


def compared(run: Path, one: list[list[dict[str, Any]]], other: list[list[dict[str, Any]]]) -> Comparison:
    reference = with_contacts(run, run.with_name("one.h5"), one)
    return compare_files(reference, with_contacts(run, run.with_name("other.h5"), other))


def test_the_order_of_contacts_is_irrelevant(run: Path) -> None:
    found = compared(run, USUAL, [[], [EDGE, TOUCH, SLIDING], [TOUCH], [EDGE, SLIDING]])
    assert found.same
    assert {finding.path: finding.compared for finding in found.findings}["contacts/point"] == 6 * 3


def test_a_changed_mode_is_reported_first(run: Path) -> None:
    slips = {**EDGE, "mode": 2, "normal_impulse": 9.0}
    found = compared(run, USUAL, [[], [TOUCH, SLIDING, slips], [TOUCH], [SLIDING, EDGE]])
    assert found.first_difference is not None
    first = found.first_difference.findings[0]
    assert (found.first_difference.time, first.path, first.role) == (0.1, "contacts/mode", "contact mode")
    assert str(first.first) == "contact of world and arm"
    assert [finding.path for finding in found.first_difference.findings] == ["contacts/mode", "contacts/normal_impulse"]


@pytest.mark.parametrize("modes", [(0, 1), (0, 2), (1, 2), (2, 0)])
@pytest.mark.parametrize(("load", "same"), [(0.0, True), (1e-14, True), (1e-9, True), (2e-9, False), (np.nan, False)])
def test_the_mode_of_a_contact_without_a_load_is_not_compared(
    run: Path, modes: tuple[int, int], load: float, same: bool
) -> None:
    one, other = ({**EDGE, "mode": mode, "normal_impulse": load} for mode in modes)
    for loads in ([one, other], [{**one, "normal_impulse": 0.0}, other]):
        found = compared(run, *([[], [SLIDING, edge], [TOUCH], [SLIDING]] for edge in loads))
        assert ("contacts/mode" not in [finding.path for finding in found.findings if finding.differs]) == same


def test_a_moved_contact_is_reported_with_bodies_and_component(run: Path) -> None:
    moved = {**SLIDING, "point": (1.0, 0.0, 1e-3)}
    found = compared(run, USUAL, [[], [TOUCH, moved, EDGE], [TOUCH], [SLIDING, EDGE]])
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/point"]
    assert found.first_difference is not None
    assert str(found.first_difference.findings[0].worst) == "contact of arm and hand z"


@pytest.mark.parametrize("swapped", [False, True])
def test_a_missing_contact_is_a_difference_of_all_its_numbers(run: Path, swapped: bool) -> None:
    pair = (USUAL, [[], [TOUCH, EDGE], [TOUCH], [SLIDING, EDGE]])
    found = compared(run, *(reversed(pair) if swapped else pair))
    differing = [finding for finding in found.findings if finding.differs]
    assert {finding.path for finding in differing} >= {"contacts/mode", "contacts/point", "contacts/normal_impulse"}
    assert all(finding.first and finding.first.time == 0.1 for finding in differing)
    assert all(finding.first and finding.first.body == "contact of arm and hand" for finding in differing)


def test_bodies_are_matched_by_name(run: Path) -> None:
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
def test_a_nan_point_differs_from_a_finite_point(run: Path, number: float) -> None:
    lost = {**EDGE, "point": (number, 0.2, 0.4)}
    found = compared(run, USUAL, [[], [lost, TOUCH, SLIDING], [TOUCH], [SLIDING, EDGE]])
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/point"]
    assert compared(run, [[], [lost], [], []], [[], [lost], [], []]).same


def test_contacts_without_points_can_be_compared(run: Path) -> None:
    reference = with_contacts(run, run.with_name("one.h5"), USUAL)
    moved = {**SLIDING, "point": (1.0, 0.0, 1e-3), "normal_impulse": 4.0}
    result = with_contacts(run, run.with_name("other.h5"), [[], [TOUCH, moved, EDGE], [TOUCH], [SLIDING, EDGE]])
    rule = Rule("contacts/point", None, None, True, "policy.yaml:1:1")
    found = compare_files(reference, result, Policy(rules=(rule,)))
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/normal_impulse"]
    assert "contacts/point is ignored (policy.yaml:1:1)" in found.notes


def test_contacts_missing_in_one_run(run: Path) -> None:
    touching = with_contacts(run, run.with_name("one.h5"), USUAL)
    assert "contacts/mode is missing from the result" in compare_files(touching, run).mismatches
    found = compare_files(run, touching)
    assert found.same
    assert any(note.startswith("only in the result: contacts/") for note in found.notes)


@pytest.mark.parametrize("swapped", [False, True])
def test_contacts_of_one_run_alone_differ(run: Path, swapped: bool) -> None:
    """A run without any contact at an instant where the other has several."""
    pair = ([[], [], [TOUCH], []], USUAL)
    found = compared(run, *(reversed(pair) if swapped else pair))
    assert found.first_difference is not None
    assert found.first_difference.time == 0.1
    assert {one.path for one in found.findings if one.differs} >= {"contacts/point", "contacts/normal_impulse"}


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("offset", "is damaged or truncated ('there is no `contacts/offset`'); run the scene again"),
        ("point", "has contacts without contacts/point; run the scene again with all of `contacts` recorded"),
        ("body_b", "has contacts without contacts/body_b; run the scene again with all of `contacts` recorded"),
    ],
)
def test_contacts_without_identifying_datasets_are_refused(run: Path, lost: str, said: str) -> None:
    whole = with_contacts(run, run.with_name("one.h5"), USUAL)

    def lose(file: Any) -> None:
        del file["contacts"][lost]

    damaged = changed(whole, run.with_name("other.h5"), lose)
    with pytest.raises(ResultError) as error:
        compare_files(whole, damaged)
    assert str(error.value) == f"{damaged} {said}"


def test_missing_contacts_do_not_shorten_the_rest_of_the_file(run: Path) -> None:
    touching = with_contacts(run, run.with_name("one.h5"), [[], [TOUCH], [], []])
    assert len(read_trajectory(touching).time) == 4
    assert compare_files(touching, run).instants == (4, 4, 4)


def corners(*loads: float) -> list[dict[str, Any]]:
    """A body on its four corners, with these normal impulses."""
    places = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0))
    return [{"point": point, "normal_impulse": load} for point, load in zip(places, loads, strict=True)]


def test_impulses_within_tolerance_have_no_note_and_their_difference(run: Path) -> None:
    found = compared(run, [[], corners(2, 2, 2, 2), [], []], [[], corners(2 + 1e-11, 2, 2, 2), [], []])
    assert found.same
    assert not [note for note in found.notes if "distribution of impulses" in note]
    [loads] = [one for one in found.findings if one.path == "contacts/normal_impulse"]
    assert loads.largest is not None
    assert loads.largest.place.difference == pytest.approx(1e-11, rel=1e-4)


def test_impulses_with_equal_resultants_do_not_differ(run: Path) -> None:
    """Statics leaves one of the four loads undetermined: adding (1, -1, 1, -1) changes neither force nor moment."""
    found = compared(run, [[], corners(2, 2, 2, 2), [], []], [[], corners(3, 1, 3, 1), [], []])
    assert found.same
    [note] = [note for note in found.notes if "distribution of impulses" in note]
    assert note.startswith("at 1 of 4 instants only")


@pytest.mark.parametrize("loads", [(3, 3, 1, 1), (2, 2, 2, 2.1), (4, 4, 4, 4)])
def test_impulses_with_other_resultants_differ(run: Path, loads: tuple[float, ...]) -> None:
    found = compared(run, [[], corners(2, 2, 2, 2), [], []], [[], corners(*loads), [], []])
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/normal_impulse"]


def test_a_redistribution_excuses_no_other_body(run: Path) -> None:
    """Body 1 starts to slip while the loads of body 0 are only distributed otherwise."""
    alone = {"body_a": 1, "body_b": -1, "point": (9.0, 0.0, 0.0)}
    one = [*corners(2, 2, 2, 2), {**alone, "mode": 1, "normal_impulse": 1e-6}]
    other = [*corners(3, 1, 3, 1), {**alone, "mode": 2, "normal_impulse": 9e-6}]
    found = compared(run, [[], one, [], []], [[], other, [], []])
    assert {finding.path for finding in found.findings if finding.differs} == {
        "contacts/mode",
        "contacts/normal_impulse",
    }


def test_the_distance_from_the_origin_excuses_nothing(run: Path) -> None:
    far = {"point": (0.0, 0.0, 2000.0)}
    found = compared(
        run, [[], [{**far, "normal_impulse": 2.0}], [], []], [[], [{**far, "normal_impulse": 2.003}], [], []]
    )
    assert [finding.path for finding in found.findings if finding.differs] == ["contacts/normal_impulse"]


def test_a_contact_that_slips_is_a_difference_even_if_resultants_agree(run: Path) -> None:
    slipping = corners(3, 1, 3, 1)
    slipping[0]["mode"] = 2
    found = compared(run, [[], corners(2, 2, 2, 2), [], []], [[], slipping, [], []])
    assert not found.same
