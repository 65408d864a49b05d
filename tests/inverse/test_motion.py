"""Motion from tables: names of columns, degrees, splines, filters, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import ArgumentError
from multibody_cli.output.table import table_of
from multibody_cli.output.table_formats import write_storage
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.inverse.coordinates import Coordinates
from multibody_cli.studies.inverse.motion import derivatives, filtered, read_motion
from multibody_cli.studies.simulation import prepare

SCENE = """mbsim: 1
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}}
  b: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  hip:
    type: composite
    child: a
    parts: [{type: revolute, axis: [0, 0, 1]}, {type: prismatic, axis: [1, 0, 0]}]
    coordinate_names: [hip-flexion, hip_tx]
  knee: {type: revolute, parent: a, child: b, axis: [0, 0, 1]}
simulation: {duration: 1, step: 10 ms}
"""

TIMES = np.linspace(0.0, 1.0, 21)


@pytest.fixture
def coordinates(tmp_path: Path) -> Coordinates:
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    prepared = prepare(path)
    return Coordinates(prepared.scene, prepared.compiled.model)


def storage(path: Path, columns: dict[str, np.ndarray], degrees: bool) -> Path:
    lines = ["motion", "version=1", f"nRows={len(TIMES)}", f"nColumns={1 + len(columns)}"]
    lines += [f"inDegrees={'yes' if degrees else 'no'}", "endheader", "\t".join(["time", *columns])]
    lines += ["\t".join(map(repr, row)) for row in np.column_stack([TIMES, *columns.values()]).tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "names",
    [
        ("hip-flexion", "hip_tx", "knee"),
        ("/jointset/hip/hip-flexion/value", "/jointset/hip/hip_tx/value", "/jointset/k/knee/value"),
        ("hip/0", "hip/1", "joints/knee/q"),
        ("hip_flexion", "joints/hip/q[1]", "knee"),
    ],
)
def test_columns_have_names_of_opensim_addresses_or_channels(
    names: tuple[str, str, str], coordinates: Coordinates, tmp_path: Path
) -> None:
    """Angles are in degrees where the header says so, lengths are not."""
    angle, shift = 30.0 + 10.0 * TIMES, 0.2 * TIMES
    columns = dict(zip(names, (angle, shift, -angle), strict=True)) | {"muscle.activation": angle}
    found = read_motion(storage(tmp_path / "m.mot", columns, degrees=True), coordinates)
    assert found.coordinates.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.q, np.array([np.radians(angle), shift, -np.radians(angle)]).T, rtol=1e-14)
    np.testing.assert_allclose(found.v[:, 1], 0.2, rtol=1e-12)
    assert found.ignored == ("muscle.activation",)
    plain = read_motion(storage(tmp_path / "m.sto", columns, degrees=False), coordinates)
    np.testing.assert_allclose(plain.q[:, 0], angle, rtol=1e-14)


def test_a_parabola_has_its_derivatives_and_a_sine_nearly(tmp_path: Path) -> None:
    """The natural spline of degree five reproduces polynomials up to degree two, also at its ends."""
    q = np.array([1.0 + 2.0 * TIMES - 3.0 * TIMES**2, np.sin(3.0 * TIMES)]).T
    _, v, a = derivatives(tmp_path, TIMES, q)
    np.testing.assert_allclose(v[:, 0], 2.0 - 6.0 * TIMES, atol=1e-11)
    np.testing.assert_allclose(a[:, 0], -6.0, atol=1e-9)
    np.testing.assert_allclose(a[5:-5, 1], -9.0 * q[5:-5, 1], atol=1e-2)


def test_the_filter_halves_the_power_at_its_cutoff_twice_and_shifts_no_phase(tmp_path: Path) -> None:
    """Forward and backward, the gain is |H|^2 = 1/(1 + (tan(pi f/f_s)/tan(pi c/f_s))^6)."""
    t = np.arange(4000) / 400.0
    for frequency in (2.0, 6.0, 12.0):
        wave = np.sin(2.0 * np.pi * frequency * t)
        found, _, a = (one[1500:2500, 0] for one in filtered(tmp_path, t, wave[:, None], 6.0))
        gain = 1.0 / (1.0 + (np.tan(np.pi * frequency / 400.0) / np.tan(np.pi * 6.0 / 400.0)) ** 6)
        np.testing.assert_allclose(found, gain * wave[1500:2500], atol=1e-6)
        np.testing.assert_allclose(a, -((2.0 * np.pi * frequency) ** 2) * found, atol=1e-2)


def test_the_filter_keeps_lines_and_their_ends(tmp_path: Path) -> None:
    q = np.array([1.0 + 2.0 * TIMES]).T
    found, v, a = filtered(tmp_path, TIMES, q, 4.0)
    np.testing.assert_allclose(found, q, atol=1e-6)
    np.testing.assert_allclose(v, 2.0, atol=5e-5)
    np.testing.assert_allclose(a, 0.0, atol=5e-3)


def test_what_is_refused(coordinates: Coordinates, tmp_path: Path) -> None:
    angle = 10.0 * TIMES
    for columns, words in (
        ({"ankle": angle}, "no column is a coordinate of the scene"),
        ({"knee": angle, "joints/knee/q": angle}, "`joints/knee/q` and `knee` are the same coordinate"),
        (
            {"knee": np.where(TIMES == 0.5, np.nan, angle)},
            "missing values, first in `knee` at 0.5 s: fill the",
        ),
    ):
        with pytest.raises(ArgumentError, match=r"m\.mot") as error:
            read_motion(storage(tmp_path / "m.mot", columns, degrees=True), coordinates)
        assert words in str(error.value)
    path = storage(tmp_path / "m.mot", {"knee": angle}, degrees=True)
    with pytest.raises(ArgumentError, match=r"expected a frequency up to half of that of .*mot, 10 Hz"):
        read_motion(path, coordinates, 10.0)
    with pytest.raises(ArgumentError, match="has no instant from 2 s to 3 s: it has 21 from 0 s to 1 s"):
        read_motion(path, coordinates).between(2.0, 3.0)
    for text, message in (
        ("time,knee (m)\n0,0\n1,1\n", "m.mot:1: `knee`: expected rad, found a length"),
        ("time,knee (foo)\n0,0\n1,1\n", "m.mot:1: column `knee`: "),
        ("time,knee\n", "m.mot has no values"),
        (
            "time,knee\n0,0\n0,1\n",
            "m.mot:3: column `time`: expected times that rise from line to line, without missing values, found `0` af",
        ),
        (
            "time,knee\n,0\n0,1\n",
            "m.mot:2: column `time`: expected times that rise from line to line, without missing values, found ``",
        ),
        (
            "t,knee\n0,0\n0,1\n",
            "m.mot:1: expected one column `time`, found 0 among `t`, `knee`: name that",
        ),
        ("time,knee\n0,0\n0.5,nan\n1,nan\n", "m.mot: missing values, first in `knee` at 0.5 s: fill the gaps first"),
        ("time (mm),knee\n0,0\n1,1\n", "m.mot:1: column `time`: expected a time (s), but `mm` is a length"),
        ("time,knee\n0,0\n1,x\n", "m.mot:3: column `knee`: expected a number, found `x`"),
    ):
        path.write_text(text)
        with pytest.raises(ArgumentError) as error:
            read_motion(path, coordinates)
        assert message in str(error.value)
    path.write_text("time,knee\n0,0\n1,1\n2,2\n")
    with pytest.raises(ArgumentError, match="has 3 instants: a spline of degree five needs 6; equal rows, or one, are"):
        read_motion(path, coordinates)
    for rows, count in (("0,0.25\n", 1), ("0,0.25\n1,0.25\n2,0.25\n", 3)):
        path.write_text(f"time,knee\n{rows}")
        pose = read_motion(path, coordinates)
        assert (pose.q.tolist(), pose.v.tolist(), pose.a.tolist()) == (
            [[0.25]] * count,
            [[0.0]] * count,
            [[0.0]] * count,
        )


def test_exported_storages_are_motions(tmp_path: Path) -> None:
    """A run, its coordinates as a storage of OpenSim, and its forces, nearly: a spline replaces the motion."""
    scene, run, table = tmp_path / "swing.yaml", tmp_path / "run.h5", tmp_path / "run.mot"
    scene.write_text(
        "mbsim: 1\nbodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.01]}}}\n"
        'joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 0.5, force: "sin(2*t)"}}\n'
        "simulation: {duration: 1 s, step: 1 ms}\noutput: {every: 5 ms}\n"
    )
    mbsim.load(scene).run(run)
    trajectory = read_trajectory(run)
    write_storage(table_of(trajectory, ["joints/hinge/q"], np.arange(len(trajectory.time))), table)
    found = mbsim.inverse(scene, table)
    np.testing.assert_allclose(found.force("hinge")[20:-20], np.sin(2.0 * found.times[20:-20]), atol=1e-6)
