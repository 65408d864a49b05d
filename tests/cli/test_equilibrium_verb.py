"""`mbsim equilibrium`: output, files and refusals."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from command_result import Command

SCENE = """mbsim: 1
gravity: [0, 0, -9.81]
bodies: {rod: {mass: 2, com: [0.5, 0, 0], inertia: {principal: [0.1, 0.1, 0.1]}}}
joints: {hinge: {type: revolute, axis: [0, 1, 0], child: rod, v: 3}}
simulation: {duration: 0.1 s, step: 1 ms}
"""


def test_the_equilibrium_and_its_files(mbsim: Command, folder: Path) -> None:
    (folder / "rod.yaml").write_text(SCENE)
    ending = mbsim("equilibrium", "rod.yaml", "--write", "still.yaml", "-o", "still.h5")
    assert ending.code == 0
    assert ending.stdout.splitlines()[:3] == [
        "equilibrium at t = 0 s after 7 steps: stable, least stiffness 9.81 J per (1 rad)^2, of hinge",
        "  coordinate  value  change  unit",
        "  hinge       1.571   1.571  rad",
    ]
    assert "v: 3" not in (folder / "still.yaml").read_text()
    again = json.loads(mbsim("equilibrium", "still.yaml", "--json").stdout)
    assert again["coordinates"][0]["value"] == pytest.approx(math.pi / 2, abs=1e-15)
    assert (again["stability"], again["isolated"], again["others"]) == ("stable", True, [])
    assert mbsim("run", "still.yaml").code == 0
    ending = mbsim("rerun", "still.h5")
    assert (ending.code, "still.h5 has no run but `equilibrium`" in ending.stderr) == (2, True)
    ending = mbsim("equilibrium", "rod.yaml", "--write", "still.yaml")
    expected = "error: still.yaml exists: use --force to replace it, or --write to choose another name\n"
    assert (ending.code, ending.stderr) == (2, expected)


def test_an_unstable_start_lists_the_equilibria_beside_it(mbsim: Command, folder: Path) -> None:
    (folder / "rod.yaml").write_text(SCENE)
    ending = mbsim("equilibrium", "rod.yaml", "--set", "joints.hinge.q=-90 deg")
    assert "unstable in 1 direction, least stiffness -9.81 J per (1 rad)^2, of hinge" in ending.stdout
    assert "beside it, equilibrium 2: stable" in ending.stdout


def test_the_least_stiffness_has_the_displacement_of_its_unit(mbsim: Command, folder: Path) -> None:
    """A spring of 1 N/mm has 1000 N/m times the square of this displacement, and it is printed."""
    (folder / "slide.yaml").write_text("""mbsim: 1
gravity: [0, 0, 0]
bodies: {mass: {mass: 2, inertia: {principal: [0.01, 0.01, 0.01]}}}
joints: {slide: {type: prismatic, axis: [1, 0, 0], child: mass, stiffness: 1 N/mm}}
simulation: {duration: 0.1 s, step: 1 ms}
""")
    found = json.loads(mbsim("equilibrium", "slide.yaml", "--json").stdout)
    displacement = found["unit_displacement"]
    assert displacement < 0.5
    assert found["stiffness"][0] == pytest.approx(1000 * displacement**2, rel=1e-9)
    shown = f"least stiffness {1000 * displacement**2:.4g} J per ({displacement:.4g} m)^2, of slide"
    assert shown in mbsim("equilibrium", "slide.yaml").stdout


@pytest.mark.parametrize("order", ["max(q, 0)", "max(0, q)"])
def test_a_kink_with_an_unstable_side(mbsim: Command, folder: Path, order: str) -> None:
    (folder / "kink.yaml").write_text(f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{mass: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{slide: {{type: prismatic, axis: [1, 0, 0], child: mass, stiffness: 10, force: "40*{order}"}}}}
simulation: {{duration: 0.1 s, step: 1 ms}}
""")
    ending = mbsim("equilibrium", "kink.yaml")
    assert "unstable in 1 direction, least stiffness -30 J per (1 m)^2, of slide" in ending.stdout
    assert "the stiffness is that of the side on which slide increases" in ending.stderr
    found = json.loads(mbsim("equilibrium", "kink.yaml", "--json").stdout)
    assert (found["stability"], found["isolated"], found["unknown_because"]) == ("unstable", True, "")
    assert sorted(found["stiffness_of_sides"]) == [[pytest.approx(-30.0)], [pytest.approx(10.0)]]


def test_a_limit_without_force_allows_displacements_to_one_side(mbsim: Command, folder: Path) -> None:
    (folder / "rod.yaml").write_text(SCENE.replace("v: 3", "limits: ['90 deg', '170 deg'], q: '90 deg'"))
    ending = mbsim("equilibrium", "rod.yaml")
    assert "stable in the displacements that 1 limit that touches without force allows; least stiffness 9.81 J per" in (
        ending.stdout
    )
    data = json.loads(mbsim("equilibrium", "rod.yaml", "--json").stdout)
    assert (data["stability"], data["touched_rows"], data["open"]) == ("stable", 1, ["joints.hinge"])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--at", "noon"], 2, "--at noon: "),
        (["--steady", "hing=1"], 2, "--steady hing: no coordinate `hing`"),
        (["--at", "-1s"], 2, "--at -1s: expected a time (s) of at least 0"),
        (["--steady", "hinge=fast"], 2, "--steady hinge=fast: "),
        (["--steady", "hinge=5 m"], 2, "--steady hinge=5 m: expected an angular speed (rad/s), but `5 m` is a length"),
        (["--write", "still.txt"], 2, "--write still.txt: expected a name that ends in .yaml"),
        (["-o", "still.csv"], 2, "results are written as HDF5"),
        (
            ["--set", "joints.hinge.force=100"],
            1,
            "no equilibrium at t = 0 s downhill from the start: joint hinge has the largest unbalanced",
        ),
    ],
)
def test_refusals(mbsim: Command, folder: Path, words: list[str], code: int, message: str) -> None:
    (folder / "rod.yaml").write_text(SCENE)
    ending = mbsim("equilibrium", "rod.yaml", *words)
    assert (ending.code, message in ending.stderr) == (code, True), ending.stderr


def test_equilibria_and_modes_import_no_optimizer() -> None:
    """It takes as long as a mechanism without limits and contacts, which needs none."""
    modules = "multibody_cli.studies.statics.files, multibody_cli.studies.vibration.modes"
    program = f"import sys, {modules}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "scipy.linalg" in done.stdout.split()
    assert "scipy.optimize" not in done.stdout.split()
