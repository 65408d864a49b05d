"""`mbsim sweep --frame`: kept wrenches in other axes are those of the result files, in single runs and in lanes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.cli.app import main
from multibody_cli.output.sweep_table import SweepTable

SCENE = """\
mbsim: 1
name: hanging
bodies: {rod: {mass: 2, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.1]}}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 30 deg}}
simulation: {duration: 0.1 s, step: 1 ms, integrator: rk4}
output: {every: 10 ms}
"""


def swept(*words: str) -> SweepTable:
    """Return the table of a sweep."""
    Path("scene.yaml").write_text(SCENE)
    with pytest.raises(SystemExit) as ending:
        main(["sweep", "scene.yaml", *words, "-o", "t.h5", "--jobs", "1", "--force"])
    assert ending.value.code == 0
    return SweepTable(Path("t.h5"))


@pytest.mark.parametrize("words", [["--no-lanes"], ["--lanes"]])
@pytest.mark.parametrize("frame", ["world", "body", "joint"])
def test_the_reaction_at_the_start_in_each_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], frame: str
) -> None:
    """Released at rest at q: the force of the hinge is m (a - g) of the center, whose acceleration is tangential."""
    monkeypatch.chdir(tmp_path)
    angles = np.radians(np.linspace(-80.0, 80.0, 9))
    varied = "joints.hinge.q=" + ", ".join(f"{angle!r} rad" for angle in angles.tolist())
    kept = [f"joints/hinge/force[{one}]@initial" for one in ("fx", "fz")]
    table = swept("--vary", varied, "--keep", kept[0], "--keep", kept[1], "--frame", frame, *words)
    m, length, g = 2.0, 0.5, 9.81
    tangent = np.array([-np.cos(angles), np.sin(angles)])  # d(com)/dq of com = -l (sin q, cos q)
    acceleration = length * tangent * (-m * g * length * tangent[1] / (0.1 + m * length**2))
    force = m * (acceleration + np.array([[0.0], [g]]))
    c, s = np.cos(angles), np.sin(angles)
    if frame != "world":
        force = np.array([c * force[0] - s * force[1], s * force[0] + c * force[1]])
    found = [table.read(f"joints/hinge/force[{one}] initial") for one in ("fx", "fz")]
    np.testing.assert_allclose(found, force, atol=1e-11)
    about = table.column("joints/hinge/force[fx] initial").description
    assert about.endswith(f"In the axes of the {frame}.") == (frame != "joint")


def test_sweeps_with_other_axes_are_other_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--vary", "joints.hinge.q=0.1,0.2", "--keep", "joints/hinge/force[fx]"]
    swept(*words)
    with pytest.raises(SystemExit) as ending:
        main(["sweep", "scene.yaml", *words, "-o", "t.h5", "--frame", "world"])
    assert ending.value.code == 2
    assert "is the table of another sweep" in capsys.readouterr().err
