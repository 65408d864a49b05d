"""Kinematic analysis: Grashof classes, transmission angles, dead centres and branching points."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from test_fits import MARKED_BAR, table

import mbsim
from multibody_cli.errors import ArgumentError
from multibody_cli.studies.inverse.four_bars import grashof_class, least_transmission_angle
from multibody_cli.studies.inverse.kinematic_analysis import BEYOND, KinematicProblem, Kinematics
from multibody_cli.studies.inverse.singular_positions import singular_positions
from multibody_cli.studies.inverse.study import OVERRIDES, Question
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

BODY = "mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}"


def four_bar(lengths: tuple[float, ...], angles: tuple[float, ...], motion: str = "", driven: str = "a") -> str:
    """Return a four-bar with the lengths of frame, crank, coupler and rocker, from angles of its joints a, b and d."""
    frame, crank, coupler, rocker = lengths
    words = {name: f"q: {angle!r}" for name, angle in zip("abd", angles, strict=True)}
    if motion:
        words[driven] = f'motion: {{position: "{motion}"}}'
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  crank: {{{BODY}}}
  coupler: {{{BODY}}}
  rocker: {{{BODY}}}
joints:
  a: {{type: revolute, child: crank, axis: [0, 0, 1], {words["a"]}}}
  b: {{type: revolute, parent: crank, child: coupler, origin: {{position: [{crank}, 0, 0]}}, axis: [0, 0, 1],
    {words["b"]}}}
  d: {{type: revolute, child: rocker, origin: {{position: [{frame}, 0, 0]}}, axis: [0, 0, 1], {words["d"]}}}
  c: {{type: revolute, parent: coupler, child: rocker, origin: {{position: [{coupler}, 0, 0]}},
    child_origin: {{position: [{rocker}, 0, 0]}}, axis: [0, 0, 1]}}
simulation: {{duration: 1, step: 1 ms, assembly_tolerance: 10}}
output: {{every: 10 ms}}
"""


def analysed(
    path: Path, motion: Path | None = None, on: tuple[str, ...] = (), start: float | None = None
) -> Kinematics:
    return KinematicProblem(prepare(path, OVERRIDES), Question(motion, on, start=start)).solve()


def closed(lengths: tuple[float, ...], theta: float) -> tuple[float, float, float]:
    """Return the angles of the joints a, b and d of the open branch at a crank angle, by the law of cosines."""
    frame, crank, coupler, rocker = lengths
    tip = crank * np.exp(1j * theta)
    span = frame - tip
    inner = np.arccos((abs(span) ** 2 + coupler**2 - rocker**2) / (2.0 * abs(span) * coupler))
    direction = np.angle(span) + inner
    end = tip + coupler * np.exp(1j * direction)
    return theta, float(direction - theta), float(np.angle(end - frame))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("lengths", "kind"),
    [
        ((0.6, 0.2, 0.6, 0.4), "crank-rocker"),
        ((0.6, 0.4, 0.6, 0.2), "rocker-crank"),
        ((0.2, 0.5, 0.6, 0.5), "double-crank"),
        ((0.6, 0.5, 0.2, 0.5), "double-rocker"),
        ((1.0, 0.6, 0.7, 0.6), "triple-rocker"),
        ((0.6, 0.2, 0.6, 0.2), "parallelogram"),
        ((0.3, 0.3, 0.3, 0.3), "rhombus"),
        ((0.6, 0.6, 0.2, 0.2), "kite"),
        ((0.6, 0.2, 0.2, 0.6), "kite"),
        ((0.5, 0.2, 0.4, 0.3), "change point, crank-rocker"),
        ((0.2, 0.3, 0.4, 0.5), "change point, double-crank"),
        ((0.5, 0.2, 0.4, 0.3 - 1e-6), "triple-rocker"),
        ((0.7, 0.1, 0.4, 0.2), "immovable"),
        ((0.7 - 1e-6, 0.1, 0.4, 0.2), "triple-rocker"),
        ((0.5, 0.2, 0.4, 0.3 + 1e-6), "crank-rocker"),
    ],
)
def test_grashof_classes(lengths: tuple[float, ...], kind: str, scale: float) -> None:
    assert grashof_class([scale * one for one in lengths]) == kind


CRANK_ROCKER = (0.6, 0.2, 0.6, 0.4)


def test_a_coordinate_that_closes_a_loop_is_no_drive(tmp_path: Path) -> None:
    """Beside the coordinate that determines the motion it is left out; alone it is refused."""
    path, times = tmp_path / "bar.yaml", np.linspace(0.0, 0.5, 11)
    path.write_text(four_bar(CRANK_ROCKER, closed(CRANK_ROCKER, 0.3)))
    both = table(tmp_path / "both.csv", {"time": times, "a": 0.3 + times, "c": times})
    assert analysed(path, both).ignored == ("c (closes a loop)",)
    alone = table(tmp_path / "alone.csv", {"time": times, "c": times})
    with pytest.raises(
        ArgumentError, match=r"alone\.csv: `c` is of a joint that closes a loop, .* determines `a`: give"
    ):
        analysed(path, alone)


def test_a_full_turn_of_a_crank(tmp_path: Path) -> None:
    """Positions and transmission angles by the law of cosines; rates and accelerations as their derivatives."""
    path = tmp_path / "bar.yaml"
    path.write_text(four_bar(CRANK_ROCKER, closed(CRANK_ROCKER, 0.3), "0.3 + 2*pi*t"))
    found = analysed(path)
    theta = 0.3 + 2.0 * np.pi * found.times
    wanted = np.array([closed(CRANK_ROCKER, angle) for angle in theta])
    turns = (found.q[:, :3] - wanted) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-11)
    step = 1e-5
    near = [np.array([closed(CRANK_ROCKER, angle + k * step) for angle in theta])[:, 1:] for k in (-1, 0, 1)]
    rates = (near[2] - near[0]) / (2.0 * step) * 2.0 * np.pi
    accelerations = (near[2] - 2.0 * near[1] + near[0]) / step**2 * (2.0 * np.pi) ** 2
    np.testing.assert_allclose(found.v[:, 1:3], rates, atol=1e-7)
    np.testing.assert_allclose(found.a[:, 1:3], accelerations, atol=1e-3)
    for a, b, d, c in (found.q.T, found.v.T, found.a.T):  # c closes the loop
        turns = (c - (d - a - b)) / (2.0 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns[0]), atol=1e-9)
    [linkage] = found.linkages
    assert linkage.bar.bodies == ("world", "crank", "coupler", "rocker")
    assert (linkage.kind, linkage.branches) == ("crank-rocker", ("left",))
    np.testing.assert_allclose(linkage.lengths, CRANK_ROCKER, rtol=1e-12)
    frame, crank, coupler, rocker = CRANK_ROCKER
    span = frame**2 + crank**2 - 2.0 * frame * crank * np.cos(theta)
    cosine = np.abs((coupler**2 + rocker**2 - span) / (2.0 * coupler * rocker))
    np.testing.assert_allclose(linkage.transmission, np.arccos(cosine), atol=1e-10)
    least = least_transmission_angle(CRANK_ROCKER)
    assert least <= linkage.transmission.min() < least + 0.01
    assert not found.singularities
    assert not found.held


def test_a_four_bar_does_not_depend_on_the_axes_of_its_joint_frames(tmp_path: Path) -> None:
    """A hinge about x of a frame that is turned so that x is z of the bodies."""
    plain = four_bar(CRANK_ROCKER, closed(CRANK_ROCKER, 0.3), "0.3 + 2*pi*t")
    turned = "{rotation: {axis: [0, 1, 0], angle: -90 deg}"
    place = f"{turned}, position: [{CRANK_ROCKER[1]}, 0, 0]}}"
    text = plain.replace(
        "a: {type: revolute, child: crank, axis: [0, 0, 1]",
        f"a: {{type: revolute, child: crank, axis: [1, 0, 0], origin: {turned}}}, child_origin: {turned}}}",
    ).replace(
        f"child: coupler, origin: {{position: [{CRANK_ROCKER[1]}, 0, 0]}}, axis: [0, 0, 1]",
        f"child: coupler, origin: {place}, child_origin: {turned}}}, axis: [1, 0, 0]",
    )
    assert text.count("-90 deg") == 4
    linkages = []
    for k, one in enumerate((plain, text)):
        path = tmp_path / f"bar{k}.yaml"
        path.write_text(one)
        linkages.append(analysed(path).linkages[0])
    assert [(one.kind, one.branches) for one in linkages] == [("crank-rocker", ("left",))] * 2
    np.testing.assert_allclose(linkages[1].transmission, linkages[0].transmission, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("offset", [0.0, 0.37])
def test_dead_centres_of_a_rocker_that_drives(offset: float, scale: float, tmp_path: Path) -> None:
    """Where crank and coupler lie on a line, at an instant or between two, for any unit of length."""
    lengths = tuple(scale * one for one in CRANK_ROCKER)
    path = tmp_path / "bar.yaml"
    path.write_text(four_bar(lengths, closed(lengths, 0.3)))
    frame, crank, coupler, rocker = CRANK_ROCKER
    stretched = np.arccos((frame**2 + (crank + coupler) ** 2 - rocker**2) / (2.0 * frame * (crank + coupler)))
    folded = np.pi + np.arccos((frame**2 + (coupler - crank) ** 2 - rocker**2) / (2.0 * frame * (coupler - crank)))
    times = np.linspace(0.0, 1.0, 101)
    theta = stretched - 2.0 * np.pi * 0.01 * (20.0 + offset) + 2.0 * np.pi * times
    angles = np.unwrap(np.array([closed(lengths, angle) for angle in theta]), axis=0)
    motion = table(tmp_path / "motion.csv", {"time": times} | dict(zip("abd", angles.T, strict=True)))
    found = analysed(path, motion, ("d",))
    assert found.driving == ("d",)
    instants = np.sort([0.01 * (20.0 + offset), 0.01 * (20.0 + offset) + (folded - stretched) / (2.0 * np.pi)])
    np.testing.assert_allclose([one.position.time for one in found.singularities], instants, atol=1e-6)
    assert {one.kind for one in found.singularities} == {"dead centre"}
    assert found.singularities[0].moves == ("a", "b")
    assert set(found.linkages[0].branches) == {"left", "right"}
    assert not analysed(path, motion, ("a",)).singularities


@pytest.mark.parametrize("start", [-0.305, -0.3])
def test_branches_of_a_parallelogram_meet_where_it_is_flat(start: float, tmp_path: Path) -> None:
    path = tmp_path / "bar.yaml"
    path.write_text(four_bar((0.6, 0.2, 0.6, 0.2), (start, -start, start), f"{start} + t"))
    found = analysed(path)
    [linkage] = found.linkages
    assert linkage.kind == "parallelogram"
    assert linkage.branches == ("right", "left")  # its crank turns past the frame
    [one] = found.singularities
    assert one.kind == "branching point"
    np.testing.assert_allclose(one.position.time, -start, atol=1e-6)
    np.testing.assert_allclose(found.q[:, 2], start + found.times, atol=1e-8)  # the same branch behind it


@pytest.mark.parametrize("is_prescribed", [True, False])
@pytest.mark.parametrize("top", [0.45, 0.4513])
def test_a_motion_beyond_a_dead_centre_between_two_instants(top: float, is_prescribed: bool, tmp_path: Path) -> None:
    """The crank of a triple rocker turns by 1 mrad more than it can; all instants of the motion are possible."""
    lengths = frame, crank, coupler, rocker = 1.0, 0.6, 0.7, 0.6
    limit = float(np.arccos((frame**2 + crank**2 - (coupler + rocker) ** 2) / (2.0 * frame * crank)))
    angle = f"{limit + 1e-3!r} - (t - {top})**2"
    path, motion = tmp_path / "bar.yaml", None
    start = closed(lengths, limit + 1e-3 - top**2)
    path.write_text(four_bar(lengths, start, angle if is_prescribed else "").replace("every: 10", "every: 100"))
    if not is_prescribed:
        times = np.linspace(0.0, 1.0, 11)
        motion = table(tmp_path / "motion.csv", {"time": times, "a": limit + 1e-3 - (times - top) ** 2})
    found = analysed(path, motion)
    [one] = found.singularities
    assert one.kind == "dead centre"
    assert set(one.moves) == {"b", "d"}
    speed = 2.0 * np.sqrt(1e-3)
    error = 1e-7 if is_prescribed else 2.0 * BEYOND / speed
    np.testing.assert_allclose(one.position.time, top - np.sqrt(1e-3), atol=error)
    assert not found.changes
    [remark] = found.remarks
    assert remark.startswith("the motion leads beyond the dead centre at t = 0.4")


TRIPLE_ROCKER = (1.0, 0.6, 0.7, 0.6)


def limit_of(lengths: tuple[float, ...]) -> float:
    """Return the crank angle at which coupler and rocker are stretched."""
    frame, crank, coupler, rocker = lengths
    return float(np.arccos((frame**2 + crank**2 - (coupler + rocker) ** 2) / (2.0 * frame * crank)))


@pytest.mark.parametrize("is_prescribed", [True, False])
@pytest.mark.parametrize("factor", [0.5, 0.01])
@pytest.mark.parametrize("top", [0.45, 0.4513, 1.0])
def test_a_motion_touches_a_dead_centre(top: float, factor: float, is_prescribed: bool, tmp_path: Path) -> None:
    """The crank of a triple rocker turns back at its limit, between instants or at one; 1 urad before, none is met."""
    path, motion, times = tmp_path / "bar.yaml", None, np.linspace(0.0, 1.0, 11)
    for gap, count in ((0.0, 1), (1e-6, 0)):
        last = limit_of(TRIPLE_ROCKER) - gap
        start = closed(TRIPLE_ROCKER, last - factor * top**2)
        angle = f"{last!r} - {factor}*(t - {top})**2" if is_prescribed else ""
        path.write_text(four_bar(TRIPLE_ROCKER, start, angle).replace("every: 10", "every: 100"))
        if not is_prescribed:
            motion = table(tmp_path / f"motion{count}.csv", {"time": times, "a": last - factor * (times - top) ** 2})
        found = analysed(path, motion)
        assert [one.kind for one in found.singularities] == ["dead centre"] * count
        for one in found.singularities:
            assert set(one.moves) == {"b", "d"}
            np.testing.assert_allclose(one.position.time, top, atol=1e-4)
        assert not found.changes
        assert not found.remarks


@pytest.mark.parametrize("begin", [0.0, 1e5])
def test_the_start_of_time_has_no_effect_on_a_branching_point(begin: float, tmp_path: Path) -> None:
    path, times = tmp_path / "bar.yaml", np.linspace(0.0, 1.0, 101)
    path.write_text(four_bar((0.6, 0.2, 0.6, 0.2), (-0.304, 0.304, -0.304)))
    [one] = analysed(path, table(tmp_path / "motion.csv", {"time": begin + times, "a": -0.304 + times})).singularities
    assert one.kind == "branching point"
    # Rates and accelerations of the table multiply the round-off of the times.
    np.testing.assert_allclose(one.position.time - begin, 0.304, atol=1e3 * np.spacing(1e5))


@pytest.mark.parametrize(("over", "begin"), [(1e-4, 0.0), (1e-3, 0.0), (1e-3, 1e5), (1e-2, 0.0)])
def test_a_table_with_instants_beyond_a_dead_centre(over: float, begin: float, tmp_path: Path) -> None:
    """The crank of a triple rocker swings beyond its limit and back: instants there are no positions of the motion."""
    limit, first = limit_of(TRIPLE_ROCKER), limit_of(TRIPLE_ROCKER) - 0.5
    path, times = tmp_path / "bar.yaml", np.linspace(0.0, 1.0, 100)
    path.write_text(four_bar(TRIPLE_ROCKER, closed(TRIPLE_ROCKER, first)))
    angles = first + (0.5 + over) * np.sin(np.pi * times)
    found = analysed(path, table(tmp_path / "motion.csv", {"time": begin + times, "a": angles}))
    [one] = found.singularities
    phase = np.arcsin(0.5 / (0.5 + over))
    speed = np.pi * (0.5 + over) * np.cos(phase)
    assert one.kind == "dead centre"
    np.testing.assert_allclose(one.position.time - begin, phase / np.pi, atol=2.0 * BEYOND / speed)
    again = begin + times[(times > 0.5) & (angles < limit)][0]
    [remark] = found.remarks
    assert remark.startswith("the motion leads beyond the dead centre at t = ")
    assert remark.endswith(f"cannot be satisfied between there and the instant t = {again:.9g} s")


def test_a_motion_that_ends_beyond_a_dead_centre(tmp_path: Path) -> None:
    limit = limit_of(TRIPLE_ROCKER)
    path, times = tmp_path / "bar.yaml", np.linspace(0.0, 1.0, 100)
    path.write_text(four_bar(TRIPLE_ROCKER, closed(TRIPLE_ROCKER, limit - 0.5)))
    found = analysed(path, table(tmp_path / "motion.csv", {"time": times, "a": limit - 0.5 + 0.52 * times}))
    [one] = found.singularities
    np.testing.assert_allclose(one.position.time, 0.5 / 0.52, atol=2.0 * BEYOND / 0.52)
    [remark] = found.remarks
    assert remark.endswith("between there and the end of the motion")


def test_rounded_coordinates_that_contradict_each_other_are_possible(tmp_path: Path) -> None:
    """Crank and rocker of a table have five decimals; a hinge that is not in the table does not make them free."""
    path, times = tmp_path / "bar.yaml", np.linspace(0.0, 1.0, 101)
    text = four_bar(CRANK_ROCKER, closed(CRANK_ROCKER, 0.3)).replace("joints:\n", f"  flap: {{{BODY}}}\njoints:\n")
    path.write_text(text.replace("  c: {type", "  e: {type: revolute, child: flap, axis: [0, 0, 1]}\n  c: {type"))
    angles = np.array([closed(CRANK_ROCKER, angle) for angle in 0.3 + 2.0 * times]).round(5)
    motion = table(tmp_path / "motion.csv", {"time": times, "a": angles[:, 0], "d": angles[:, 2]})
    found = analysed(path, motion, ("d",))
    assert found.driving == ("d", "e")
    assert min(found.changes.values()) > BEYOND
    frame, crank, coupler, rocker = CRANK_ROCKER
    reach = coupler + crank
    stretched = np.arccos((frame**2 + reach**2 - rocker**2) / (2.0 * frame * reach))
    [one] = found.singularities
    # A change of 1e-5 rad is 5e-6 s at 2 rad/s.
    np.testing.assert_allclose(one.position.time, (stretched - 0.3) / 2.0, atol=2e-5)
    assert not found.remarks


def test_markers_of_a_four_bar_and_refusals(tmp_path: Path) -> None:
    path = tmp_path / "bar.yaml"
    path.write_text(MARKED_BAR)
    run = mbsim.load(path).run(tmp_path / "run.h5")
    found = analysed(path, tmp_path / "run.h5")
    np.testing.assert_allclose(found.v[:, 0], np.asarray(run["joints/a/v"]).ravel(), atol=1e-9)
    np.testing.assert_allclose(found.a[:, 0], np.asarray(run["joints/a/acceleration"]).ravel(), atol=1e-8)
    assert found.driving == ("a",)
    with pytest.raises(ArgumentError, match="--motion FILE is required: the scene prescribes no motion"):
        analysed(path)
    with pytest.raises(ArgumentError, match="--on e: no coordinate `e`"):
        analysed(path, tmp_path / "run.h5", ("e",))


def test_the_other_assembly_branch_is_the_mirror_image(tmp_path: Path) -> None:
    path = tmp_path / "bar.yaml"
    found = []
    for sign in (1.0, -1.0):
        angles = tuple(sign * angle for angle in closed(CRANK_ROCKER, 0.3))
        path.write_text(four_bar(CRANK_ROCKER, angles, f"{sign}*(0.3 + 2*pi*t)"))
        found.append(analysed(path))
    np.testing.assert_allclose(found[0].q, -found[1].q, atol=1e-12)
    assert [one.linkages[0].branches for one in found] == [("left",), ("right",)]


def test_kinematics_from_python(tmp_path: Path) -> None:
    path = tmp_path / "bar.yaml"
    path.write_text(four_bar(CRANK_ROCKER, closed(CRANK_ROCKER, 0.3), "0.3 + 2*pi*t"))
    found = mbsim.kinematics(path, start=0.1, end=0.2)
    np.testing.assert_allclose(found.q[:, 0], 0.3 + 2.0 * np.pi * found.times, atol=1e-12)
    assert len(found.times) == 11
    with pytest.raises(ArgumentError, match="on: expected a list of texts"):
        mbsim.kinematics(path, on="d")


@pytest.mark.parametrize("part", [1e-6, 1e-3, 0.01, 0.3, 0.5, 0.99, 1.0 - 1e-6])
@pytest.mark.parametrize("slopes", [(1.0, 1.0), (1.0, 1e-2), (1e-2, 1.0)])
def test_a_singular_position_is_located_anywhere_between_two_instants(part, slopes):
    """The measure falls to 0 at a part of the interval; an instant with less than 1e-6 counts as this position."""
    times = np.arange(4.0)

    def measure(_first: int, time: float) -> float:
        return math.sin(min(abs(time - 1.0 - part), 0.5 * np.pi)) * slopes[int(time > 1.0 + part)]

    [found] = singular_positions(times, np.array([measure(0, time) for time in times]), measure, lambda _k, _time: 0.0)
    assert found.time == pytest.approx(1.0 + part, abs=1.1e-6 / min(slopes))


def test_a_measure_that_does_not_change_is_not_searched_to_the_last_digit():
    times, searched = np.arange(11.0), list[float]()

    def measure(_first: int, time: float) -> float:
        searched.append(time)
        return 0.7

    assert not singular_positions(times, np.full(11, 0.7), measure, lambda _k, _time: 0.0)
    assert len(searched) < 15 * 2 * len(times)
