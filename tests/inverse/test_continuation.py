"""Motions through dead centres and branching points, with instants exactly there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_fits import table
from test_kinematic_analysis import BODY, TRIPLE_ROCKER, analysed, closed, four_bar, limit_of

from multibody_cli.kernel import Floats
from multibody_cli.studies.inverse.kinematic_analysis import Kinematics

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

CRANK, ROD = 0.05, 0.2
START = float(np.arccos((ROD**2 - CRANK**2 - 0.2**2) / (-2.0 * CRANK * 0.2)))
"""Angle of the crank with the piston at the middle of its stroke."""

STROKE = "0.2 + 0.05*sin(2*pi*t)"


def slider_crank(
    guide: str, is_last: bool = False, every: str = "10 ms", duration: float = 1.0, start: float = START
) -> str:
    """Return a slider-crank with the crank at an angle; its guide closes the loop if it is last."""
    first = start
    inner = -first - float(np.arcsin(CRANK * np.sin(first) / ROD))
    joints = [
        f"  guide: {{type: prismatic, child: piston, axis: [1, 0, 0], {guide}}}",
        f"  main: {{type: revolute, child: crank, axis: [0, 0, 1], q: {first!r}}}",
        f"  pin: {{type: revolute, parent: crank, child: rod, origin: {{position: [{CRANK}, 0, 0]}}, axis: [0, 0, 1],\n"
        f"    q: {inner!r}}}",
        f"  wrist: {{type: revolute, parent: rod, child: piston, origin: {{position: [{ROD}, 0, 0]}},\n"
        f"    axis: [0, 0, 1], q: {-first - inner!r}}}",
    ]
    lines = [*joints[1:], joints[0]] if is_last else joints
    text = "\n".join(lines)
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  crank: {{{BODY}}}
  rod: {{{BODY}}}
  piston: {{{BODY}}}
joints:
{text}
simulation: {{duration: {duration}, step: 1e-5, assembly_tolerance: 10}}
output: {{every: {every}}}
"""


def crank_angle(times: Floats) -> Floats:
    """Return the angle of the crank that turns on through both dead centres of the first period, by the cosine rule."""
    x = 0.2 + 0.05 * np.sin(2.0 * np.pi * times)
    angle = np.arccos(np.clip((x**2 + CRANK**2 - ROD**2) / (2.0 * CRANK * x), -1.0, 1.0))
    return np.where(times <= 0.25, angle, np.where(times <= 0.75, -angle, angle - 2.0 * np.pi))


def moved_by(path: Path, case: str, tmp_path: Path) -> Kinematics:
    """Return the motion of the piston by an expression of its guide in the tree or as a loop joint, or by a table."""
    motion = f'motion: {{position: "{STROKE}"}}'
    path.write_text(slider_crank("q: 0.2" if case == "table" else motion, is_last=case == "loop"))
    times = np.linspace(0.0, 1.0, 101)
    values = {"time": times, "guide": 0.2 + 0.05 * np.sin(2.0 * np.pi * times)}
    return analysed(path, table(tmp_path / "motion.csv", values) if case == "table" else None)


@pytest.mark.parametrize("case", ["tree", "loop", "table"])
def test_a_crank_turns_on_through_dead_centres_that_are_instants(case: str, tmp_path: Path) -> None:
    """At a dead centre, x'' = -+(r +- r^2/l) w^2 and dw/dt = 0, since the motion is symmetric there."""
    found = moved_by(tmp_path / "crank.yaml", case, tmp_path)
    main = [one.name for one in found.coordinates].index("main")
    q, v, a = found.q[:, main], found.v[:, main], found.a[:, main]
    np.testing.assert_allclose(q, crank_angle(found.times), atol=3e-8)  # arccos has the root of the round-off
    np.testing.assert_allclose([one.position.time for one in found.singularities], [0.25, 0.75], atol=1e-7)
    for k, sign in ((25, 1.0), (75, -1.0)):
        rate = -np.sqrt(0.05 * (2.0 * np.pi) ** 2 / (CRANK + sign * CRANK**2 / ROD))
        np.testing.assert_allclose(v[k], rate, rtol=2e-6 if case == "table" else 1e-7)  # of splines
        assert abs(a[k]) < 1e-3
    inner = slice(10, -10)  # the natural spline of a table has errors at its ends
    np.testing.assert_allclose(np.gradient(v, found.times)[inner], a[inner], atol=0.02)
    assert (v < 0.0).all()
    assert not found.changes
    assert not found.remarks


def test_many_instants_near_a_dead_centre(tmp_path: Path) -> None:
    """Rates at instants within round-off of it are those of the branch."""
    path = tmp_path / "crank.yaml"
    path.write_text(slider_crank(f'motion: {{position: "{STROKE}"}}', every="50 us", duration=0.26))
    found = analysed(path, start=0.24)
    main = [one.name for one in found.coordinates].index("main")
    rate = -np.sqrt(0.05 * (2.0 * np.pi) ** 2 / (CRANK + CRANK**2 / ROD))
    since = found.times - 0.25
    np.testing.assert_allclose(found.q[:, main], rate * since, atol=5e-5)  # of third order in 10 ms
    np.testing.assert_allclose(found.v[:, main], rate, atol=1e-3)
    assert np.abs(found.a[:, main]).max() < 0.15
    [one] = found.singularities
    np.testing.assert_allclose(one.position.time, 0.25, atol=1e-7)


def test_rates_at_the_end_of_a_possible_motion_are_not_extrapolated(tmp_path: Path) -> None:
    """The crank reaches its limit with a rate: those of the others are in proportion to the root of the distance."""
    path, limit = tmp_path / "bar.yaml", limit_of(TRIPLE_ROCKER)
    angle = f"{limit - 0.5!r} + t"
    text = four_bar(TRIPLE_ROCKER, closed(TRIPLE_ROCKER, limit - 0.5), angle)
    path.write_text(text.replace("duration: 1,", "duration: 0.5,"))
    found = analysed(path)
    assert found.times[-1] == 0.5
    assert np.abs(found.v[-1, 2]) > 100.0 * np.abs(found.v[-2, 2])


PARALLELOGRAM = (0.6, 0.2, 0.6, 0.2)


@pytest.mark.parametrize("is_prescribed", [True, False])
@pytest.mark.parametrize("rate", [None, 2.0 * np.pi, -4.0 * np.pi])
def test_a_start_where_branches_meet(rate: float | None, is_prescribed: bool, tmp_path: Path) -> None:
    """A flat parallelogram turns on as such, or as an antiparallelogram if the rates of the start say so.

    To second order, the closure of the loop has the two solutions d = a and d = -2 a.
    """
    path, motion = tmp_path / "bar.yaml", None
    text = four_bar(PARALLELOGRAM, (0.0, 0.0, 0.0), "2*pi*t" if is_prescribed else "")
    if rate is not None:
        old = "origin: {position: [0.6, 0, 0]}, axis: [0, 0, 1], q: 0.0"
        assert old in text
        text = text.replace(old, f"{old}, v: {rate!r}")
    path.write_text(text)
    times = np.linspace(0.0, 1.0, 101)
    if not is_prescribed:
        motion = table(tmp_path / "motion.csv", {"time": times, "a": 2.0 * np.pi * times})
    found = analysed(path, motion)
    a, d = found.q[:, 0], found.q[:, 2]
    if rate is not None and rate < 0.0:
        # tan(d/2) = -(frame + crank)/(frame - crank) tan(a/2)
        wanted = -2.0 * np.unwrap(np.arctan2(2.0 * np.sin(a / 2.0), np.cos(a / 2.0)))
        rates = -4.0 * np.pi / (np.cos(a / 2.0) ** 2 + 4.0 * np.sin(a / 2.0) ** 2)
    else:
        wanted, rates = a, np.full(len(a), 2.0 * np.pi)
    np.testing.assert_allclose(d, wanted, atol=1e-7)
    np.testing.assert_allclose(found.v[:, 2], rates, rtol=1e-6)
    np.testing.assert_allclose([one.position.time for one in found.singularities], [0.0, 0.5, 1.0], atol=1e-6)
    assert {one.kind for one in found.singularities} == {"branching point"}
    assert not found.held
    assert not found.changes
    [remark] = found.remarks
    assert remark.startswith("the motion starts at a singular position in which 2 branches meet, and follows that with")


@pytest.mark.parametrize("rate", [1.0, -1.0])
@pytest.mark.parametrize("case", ["tree", "loop"])
def test_a_start_at_a_dead_centre(case: str, rate: float, tmp_path: Path) -> None:
    """The crank turns to the side of its given rate."""
    path = tmp_path / "crank.yaml"
    text = slider_crank(f'motion: {{position: "{STROKE.replace("sin", "cos")}"}}', is_last=case == "loop", start=0.0)
    text = text.replace("q: 0.0", f"q: 0.0, v: {rate}", 1)
    path.write_text(text)
    found = analysed(path)
    main = [one.name for one in found.coordinates].index("main")
    np.testing.assert_allclose(found.q[:, main], -rate * crank_angle(found.times + 0.25), atol=3e-8)


def test_a_start_at_rest_where_branches_meet_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "bar.yaml"
    path.write_text(four_bar(PARALLELOGRAM, (0.0, 0.0, 0.0), "t**2"))
    found = analysed(path)
    assert not found.held
    [remark] = found.remarks
    assert remark.startswith("the motion starts at rest in a singular position: rates select no branch")
