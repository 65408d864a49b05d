"""Functions by tables in forces: values and derivatives beside SciPy, and the same motion by every method."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import mbsim
from multibody_cli.expressions import STATE, parse
from multibody_cli.packing.signals import SignalPacker
from multibody_cli.signals import derivative_along, evaluate
from multibody_cli.spec.table_function import TableFunctionSpec

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
X, Y = [0.0, 0.1, 0.25, 0.4], [0.0, 1.0, 5.0, 16.0]

SCENE = {
    "mbsim": 1,
    "gravity": [0, 0, 0],
    "bodies": {"b": {"mass": 2, "inertia": {"principal": [1, 1, 1]}}},
    "joints": {"x": {"type": "prismatic", "axis": [1, 0, 0], "child": "b", "q": 0.35, "v": 0.3}},
    "functions": {"stretch": {"x": X, "y": Y}},
    "paths": {"p": {"path": [{"body": "world"}, {"body": "b"}]}},
    "forces": {"band": {"path": "p", "tension": "10*functions.stretch(paths.p.length - 0.02)"}},
}


def spline(x: np.ndarray) -> np.ndarray:
    """The natural cubic spline, which tangents continue."""
    inner = CubicSpline(X, Y, bc_type="natural")
    inside = np.clip(x, X[0], X[-1])
    return inner(inside) + inner(inside, 1) * (x - inside)


def packed(text: str, **table) -> tuple:
    packer = SignalPacker({}, {"f": TableFunctionSpec(**table)})
    packer.add_constant(99.0)  # so that the signal does not begin at 0
    k = packer.add_expression(parse(text, STATE).body, {"q": 0})
    return packer.pack(1), k


@pytest.mark.parametrize("x", [-3.0, 0.0, 0.05, 0.1, 0.3, 0.4, 7.0])
def test_values_inside_at_points_and_beyond(x: float) -> None:
    signals, k = packed("functions.f(q)", x=X, y=Y)
    signals.quantities[0], signals.directions[0] = x, 1.0
    assert evaluate(signals, k, 0.0)[0] == pytest.approx(float(spline(np.array(x))), abs=1e-13)
    h = 1e-5
    slope = (spline(np.array(x + h)) - spline(np.array(x - h))) / (2 * h)
    assert derivative_along(signals, k, 0.0) == pytest.approx(float(slope), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("t", [-0.5, 0.4, 0.74, 0.76, 1.0, 1.24, 1.26, 3.0])
def test_lines_with_rounded_corners_have_two_derivatives_by_time(t: float) -> None:
    """Between 0.75 and 1.25 the slope falls from 1 to 0 as 1 - 3 u^2 + 2 u^3."""
    signals, k = packed("functions.f(t)", x=[0.0, 1.0, 2.0], y=[0.0, 1.0, 1.0], interpolation="linear", smoothing=0.5)
    u = float(np.clip((t - 0.75) / 0.5, 0.0, 1.0))
    slope, curve = 1 - 3 * u**2 + 2 * u**3, (-6 * u + 6 * u**2) / 0.5
    value = min(t, 0.75) + 0.5 * (u - u**3 + 0.5 * u**4)
    assert evaluate(signals, k, t) == pytest.approx((value, slope, curve), abs=1e-14)


def final(folder: Path, settings: dict) -> float:
    path = folder / "band.yaml"
    path.write_text(json.dumps({**SCENE, "simulation": {"duration": 0.06, **settings}}))
    return mbsim.load(path).run(check=False)["joints/x/q"].values[-1].item()


def solved() -> float:
    found = solve_ivp(lambda t, y: (y[1], -5 * spline(y[0] - 0.02)), (0, 0.06), (0.35, 0.3), rtol=1e-12, atol=1e-13)
    return float(found.y[0, -1])


@pytest.mark.parametrize("method", METHODS)
def test_the_motion_is_that_of_the_spline(method: str, tmp_path: Path) -> None:
    is_variational = method.startswith("variational")
    settings = {"step": 5e-5} if is_variational else {"step": 1e-4, "integrator": "rk4"}
    found = final(tmp_path, {"method": method, **settings})
    assert found == pytest.approx(solved(), abs=1e-8 if is_variational else 1e-11)


def test_implicit_steps_have_the_derivative_of_the_function(tmp_path: Path) -> None:
    """Half of the step has a quarter of the error, also with the tension in the matrix of the step."""
    errors = [abs(final(tmp_path, {"step": step, "integrator": "sdirk2"}) - solved()) for step in (2e-3, 1e-3)]
    assert 3.5 < errors[0] / errors[1] < 4.5
