"""`mbsim fit`: planted parameters, a closed form, and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from command_result import Command
from scipy.stats import chi2

import mbsim as library
from multibody_cli.cli.fit import _rounded

RIG = """\
mbsim: 1
name: rig
vars: {mass: 0.5, com: 0.4, inertia: 0.05, damping: 0.05, stiffness: 1.5}
bodies:
  arm: {mass: "${mass}", com: [0, 0, "${-com}"], inertia: {principal: ["${inertia}", "${inertia}", 0.01]}}
joints:
  hinge: {type: revolute, child: arm, axis: [0, 1, 0], q: 60 deg, damping: "${damping}", stiffness: "${stiffness}"}
simulation: {duration: 1 s, step: 4 ms}
output: {every: 20 ms}
"""

CART = """\
mbsim: 1
name: cart
gravity: [0, 0, 0]
bodies: {cart: {mass: 2, inertia: {principal: [1, 1, 1]}}}
joints: {rail: {type: prismatic, child: cart, q: 0.5, v: 1.0, force: 3.0}}
simulation: {duration: 1 s, step: 10 ms}
"""

TRUTH = {"vars.mass": 0.62, "vars.com": 0.37, "vars.inertia": 0.043, "vars.damping": 0.061, "vars.stiffness": 1.21}
STARTS = {"vars.mass": 0.5, "vars.com": 0.4, "vars.inertia": 0.05, "vars.damping": 0.05, "vars.stiffness": 1.5}


def write(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Write a CSV file; NaN is an empty cell."""
    rows = [",".join(columns)]
    rows += [
        ",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def varied(starts: dict[str, float]) -> list[str]:
    return [word for key, value in starts.items() for word in ("--vary", f"{key}={value}")]


def test_five_planted_parameters_are_recovered_within_their_covariance(mbsim: Command, folder: Path) -> None:
    """From an angle in degrees and a force, with noise: the error has the chi-square distribution of 5 degrees."""
    (folder / "rig.yaml").write_text(RIG)
    run = library.load(RIG, TRUTH).run()
    rng = np.random.default_rng(7)
    angle = np.degrees(run["joints/hinge/q"].values[:, 0]) + rng.normal(0.0, 0.1, run.sizes["time"])
    force = run["joints/hinge/force"].values[:, 5] + rng.normal(0.0, 0.02, run.sizes["time"])
    angle[5] = np.nan
    write(
        folder / "data.csv",
        {"time": run["time"].values, "joints/hinge/q (deg)": angle, "joints/hinge/force[fz]": force},
    )
    ending = mbsim("fit", "rig.yaml", "--data", "data.csv", *varied(STARTS), "--json")
    assert ending.code == 0, ending.stderr
    found = json.loads(ending.stdout)
    assert found["status"] == "converged"
    covariance = np.array(found["covariance"])
    error = np.array([one["value"] for one in found["parameters"]]) - list(TRUTH.values())
    distance = error @ np.linalg.solve(covariance, error)
    assert chi2.ppf(1e-3, 5) < distance < chi2.ppf(0.999, 5)
    for one, size in zip(found["parameters"], np.sqrt(np.diag(covariance)), strict=True):
        np.testing.assert_allclose(one["standard_error"], size, rtol=1e-12)
        assert size < 0.1 * TRUTH[one["key"]]
    sigmas = {one["name"]: one["sigma"] for one in found["columns"]}
    assert sigmas["joints/hinge/q"] == pytest.approx(np.radians(0.1), rel=0.35)
    assert sigmas["joints/hinge/force[fz]"] == pytest.approx(0.02, rel=0.35)
    assert [one["count"] for one in found["columns"]] == [50, 51]


def test_a_linear_problem_has_the_solution_of_linear_least_squares(mbsim: Command, folder: Path) -> None:
    """x = q + v t + F t^2 / (2 m): values and covariance by the normal equations."""
    (folder / "cart.yaml").write_text(CART)
    rng = np.random.default_rng(3)
    times, sigma = np.linspace(0.0, 0.9, 13), 0.01
    design = np.column_stack([np.ones_like(times), times, times**2 / 4.0])
    measured = design @ [0.4, 1.3, 2.2] + rng.normal(0.0, sigma, len(times))
    write(folder / "data.csv", {"time (s)": times, "joints/rail/q (mm)": 1000.0 * measured})
    starts = {"joints.rail.q": 0.5, "joints.rail.v": 1.0, "joints.rail.force": "3 N"}
    words = ["fit", "cart.yaml", "--data", "data.csv", *varied(starts), "--sigma", f"joints/rail/q={sigma}"]
    found = json.loads(mbsim(*words, "--json").stdout)
    expected, *_ = np.linalg.lstsq(design, measured, rcond=None)
    values = [one["value"] for one in found["parameters"]]
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    np.testing.assert_allclose(found["covariance"], sigma**2 * np.linalg.inv(design.T @ design), rtol=1e-6)
    residual = measured - design @ expected
    assert found["chi_square"] == pytest.approx(residual @ residual / sigma**2, rel=1e-8)
    assert found["degrees_of_freedom"] == 10
    text = mbsim(*words).stdout
    assert text.startswith("converged after ")
    error = found["parameters"][2]["standard_error"]
    shown = float(text.partition("--set 'joints.rail.force=")[2].partition(" N'")[0])
    assert abs(shown - values[2]) <= 1e-4 * error  # five digits of the standard error
    assert abs(shown - round(shown, 3 - math.floor(math.log10(error)) + 1)) < 1e-15


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (2.10347e11, 3.2e9, "210300000000"),
        (0.0123456, 0.00034, "0.01235"),
        (-41.26, 1.5, "-41.3"),
        (7.0, math.nan, "7"),
    ],
)
def test_numbers_have_the_digits_that_two_digits_of_their_error_leave(value: float, error: float, shown: str) -> None:
    assert _rounded(value, error) == shown


def test_parameters_that_the_data_do_not_determine_have_no_errors(mbsim: Command, folder: Path) -> None:
    """Only the ratio of force and mass determines the motion of a cart."""
    (folder / "cart.yaml").write_text(CART)
    times = np.linspace(0.0, 1.0, 11)
    write(folder / "data.csv", {"time": times, "joints/rail/q": 0.5 + times + 0.6 * times**2})
    starts = {"bodies.cart.mass": 2.0, "joints.rail.force": 3.0}
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", *varied(starts))
    assert ending.code == 0
    assert "the data do not determine bodies.cart.mass, joints.rail.force: measure more quantities" in ending.stderr
    found = json.loads(mbsim("fit", "cart.yaml", "--data", "data.csv", *varied(starts), "--json").stdout)
    mass, force = (one["value"] for one in found["parameters"])
    assert force / mass == pytest.approx(1.2, rel=1e-8)
    assert found["parameters"][0]["standard_error"] is None


def test_a_bound_holds(mbsim: Command, folder: Path) -> None:
    (folder / "cart.yaml").write_text(CART)
    times = np.linspace(0.0, 1.0, 11)
    write(folder / "data.csv", {"time": times, "joints/rail/q": 0.5 + times + 0.6 * times**2})
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", "--vary", "joints.rail.force=1,0,2")
    assert "joints.rail.force lies at a bound" in ending.stderr


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("time,joints/rail/w\n0,1\n1,2\n", (), "column `joints/rail/w`: the run has no channel or group"),
        (
            "time,joints/rail/q (kg)\n0,1\n1,2\n",
            (),
            "data.csv:1: column `joints/rail/q`: expected m, but `kg` is a mass",
        ),
        ("time,joints/rail/q (foo)\n0,1\n1,2\n", (), "data.csv:1: column `joints/rail/q`: unknown unit `foo`"),
        ("time,joints/rail/force\n0,1\n1,2\n", (), "expected one quantity, found 6: name a component"),
        ("time,joints/rail/q\n0,1\n1,x\n", (), "data.csv:3: column `joints/rail/q`: expected a number, found `x`"),
        ("time,joints/rail/q\n0,1\n1\n", (), "data.csv:3: expected 2 fields as in line 1, found 1"),
        ("time,joints/rail/q\n1,1\n0.5,2\n", (), "data.csv:3: column `time`: expected times that rise from line to"),
        ("joints/rail/q\n1\n2\n", (), "expected a column `time` and others"),
        ("joints/rail/q,joints/rail/v\n1,1\n2,2\n", (), "expected one column `time`, found 0"),
        ("time,joints/rail/q\n-1,1\n0,2\n", (), "`time` begins at -1 s: expected instants from 0 s on"),
        ("time,joints/rail/q\n", (), "data.csv has no values"),
        ("time,joints/rail/q\n0,1\n", (), "data.csv has 1 values, too few for 1 parameters"),
        (None, (), "data.csv: cannot read the file: No such file"),
        ("time,joints/rail/q\n0,1\n1,2\n", ("--vary", "joints.rail.q"), "expected KEY=START or KEY=START,LOW,HIGH"),
        ("time,joints/rail/q\n0,1\n1,2\n", ("--vary", "joints.rail.q=1 m,0 mm,2"), "expected one unit, found m, mm"),
        ("time,joints/rail/q\n0,1\n1,2\n", ("--vary", "joints.rail.q=3,0,2"), "expected a start between the bounds"),
        ("time,joints/rail/q\n0,1\n1,2\n", ("--sigma", "joints/rail/v=1"), "has no column joints/rail/v"),
        ("time,joints/rail/q\n0,1\n1,2\n", ("--sigma", "joints/rail/q=x"), "expected COLUMN=VALUE"),
        (
            "time,joints/rail/q\n0,1\n1,2\n",
            ("--vary", "joints.rail.mas=3"),
            "--vary joints.rail.mas=3.0: joints.rail",
        ),
        (
            "time,joints/rail/q;joints/rail/v\n0,1;1\n1,2;1\n",
            (),
            "data.csv:1: the headings are separated by commas",
        ),
        ("time (kg),joints/rail/q\n0,1\n1,2\n", (), "data.csv:1: column `time`: expected a time (s), but `kg` is a"),
        ("time,joints/rail/q\n0,0,5\n1,1,5\n", (), "data.csv:2: expected 2 fields as in line 1, found 3"),
        ("time;joints/rail/q\n0;1\n", (), "data.csv has 1 values, too few for 1 parameters"),
    ],
)
def test_invalid_data_and_arguments_are_refused(mbsim: Command, folder: Path, content, words, message) -> None:
    (folder / "cart.yaml").write_text(CART)
    if content is not None:
        (folder / "data.csv").write_text(content)
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", "--vary", "joints.rail.v=1", *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr


def test_a_first_run_that_fails_is_an_error(mbsim: Command, folder: Path) -> None:
    (folder / "cart.yaml").write_text(CART)
    (folder / "data.csv").write_text("time,joints/rail/q\n0,1\n1,2\n")
    words = ["--set", "joints.rail.stiffness=1e12", "--vary", "joints.rail.v=1"]
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", *words)
    assert ending.code == 1
    assert "the run with joints.rail.v=1.0 diverged" in ending.stderr


CRANK = """\
mbsim: 1
name: crank
vars: {rod: 0.5}
bodies:
  crank: {mass: 1, com: [0.15, 0, 0], inertia: {principal: [0.01, 0.01, 0.01]}}
  slider: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  hinge: {type: revolute, child: crank, axis: [0, 1, 0], q: -90 deg}
  guide: {type: prismatic, child: slider, axis: [1, 0, 0], q: 0.4}
constraints:
  rod: {type: distance, between: [{body: crank, point: [0.3, 0, 0]}, {body: slider}], length: "${rod}"}
simulation: {duration: 0.2 s, step: 4 ms}
output: {every: 20 ms}
"""


def test_lengths_of_a_closed_loop_far_from_its_initial_coordinates_are_fitted(mbsim: Command, folder: Path) -> None:
    """The scene of the fitted rod is refused without a larger tolerance of its assembly, which the options set."""
    (folder / "crank.yaml").write_text(CRANK)
    with pytest.warns(library.SceneWarning, match="the initial state was assembled"):
        run = library.load(CRANK, {"vars.rod": 0.62, "simulation.assembly_tolerance": 1.0}).run(check=False)
    write(folder / "data.csv", {"time": run["time"].values, "joints/guide/q": run["joints/guide/q"].values[:, 0]})
    words = ["fit", "crank.yaml", "--data", "data.csv", "--vary", "vars.rod=0.5"]
    found = json.loads(mbsim(*words, "--json").stdout)
    assert found["status"] == "converged"
    assert found["parameters"][0]["value"] == pytest.approx(0.62, abs=1e-8)
    assert found["settings"] == ["simulation.assembly_tolerance=1e9"]
    assert mbsim("run", "crank.yaml", "--set", "vars.rod=0.62", "--quiet").code == 2
    assert mbsim("run", "crank.yaml", "--set", "vars.rod=0.62", "--set", *found["settings"], "--quiet").code == 0


def test_an_empty_column_is_refused(mbsim: Command, folder: Path) -> None:
    (folder / "cart.yaml").write_text(CART)
    time = np.linspace(0.0, 1.0, 11)
    write(folder / "data.csv", {"time": time, "joints/rail/q": time, "joints/rail/v": np.full(11, np.nan)})
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", "--vary", "bodies.cart.mass=2")
    assert ending.code == 2
    assert "data.csv has no values of joints/rail/v: leave the column out" in ending.stderr


def test_the_alarms_of_the_run_with_the_fitted_values_are_reported(mbsim: Command, folder: Path) -> None:
    """An oscillator of 31.6 rad/s with 1.3 rad in a step: its energy is wrong."""
    cart = CART.replace("force: 3.0", "stiffness: 2000").replace("step: 10 ms", "step: 40 ms, integrator: rk4")
    (folder / "cart.yaml").write_text(cart)
    time = np.linspace(0.0, 1.0, 26)
    measured = 0.5 * np.cos(np.sqrt(1000.0) * time)
    write(folder / "data.csv", {"time": time, "joints/rail/q": measured})
    ending = mbsim("fit", "cart.yaml", "--data", "data.csv", "--vary", "bodies.cart.mass=2")
    assert "warning: the run with these values: " in ending.stderr


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_run_that_ends_before_the_last_measured_instant_is_no_measured_motion(
    mbsim: Command, folder: Path, adaptive: bool
) -> None:
    """An event ends the run at q = 1.2, after 0.507 s of 1 s: nothing is extrapolated."""
    text = CART + 'events: {wall: {when: "joints.rail.q - 1.2", end: true}}\n'
    (folder / "cart.yaml").write_text(
        text.replace("step: 10 ms", "step: 10 ms, integrator: dop853") if adaptive else text
    )
    times = np.linspace(0.0, 1.0, 11)
    write(folder / "cart.csv", {"time": times, "joints/rail/q": 0.5 + times + 0.75 * times**2})
    ending = mbsim("fit", "cart.yaml", "--data", "cart.csv", "--vary", "joints.rail.force=3")
    assert ending.code == 1
    assert "ends at t = 0.507" in ending.stderr
    assert "before the last measured instant, 1 s" in ending.stderr
    shorter = times <= 0.5
    write(folder / "cart.csv", {"time": times[shorter], "joints/rail/q": (0.5 + times + 0.75 * times**2)[shorter]})
    assert mbsim("fit", "cart.yaml", "--data", "cart.csv", "--vary", "joints.rail.force=2.9").code == 0
