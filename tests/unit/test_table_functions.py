"""Functions by tables: end conditions, smoothness, continuation, and equal values of compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator

from multibody_cli.interpolation import FUNCTIONS, continued
from multibody_cli.kernel import LANES, kernel
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.evaluation import evaluate, substitute
from multibody_cli.symbolic.generated import address_of, call_on_arrays
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.scalar import name, sin
from multibody_cli.symbolic.tables import Piecewise, table

X = np.array([-2.0, -1.1, 0.0, 0.4, 1.5, 2.0])
Y = np.array([0.3, -0.2, 0.1, 0.5, 0.4, 1.0])
WIDTH = 0.3
PLACES = [*X, -7.0, 9.0, -1.1 - 0.15, -1.1 + 0.15, *np.linspace(-2.5, 2.5, 41)]
"""Knots, both sides of the table, ends of rounded corners, and others."""

x = name("x")


def function(interpolation):
    return continued(X, Y, interpolation, WIDTH if interpolation == "linear" else 0.0)


def derivatives(piecewise, order):
    found = [table(piecewise, x)]
    for _ in range(order):
        found += differentiate(found[-1:], {x: 1.0})
    return found


@pytest.mark.parametrize("interpolation", sorted(FUNCTIONS.keys() - {"linear"}))
def test_a_table_is_met_at_its_points(interpolation):
    np.testing.assert_allclose(function(interpolation).value(X), Y, rtol=0, atol=1e-15)


@pytest.mark.parametrize("interpolation", FUNCTIONS)
def test_tangents_continue_a_table(interpolation):
    """The second derivative is 0 outside, and value and slope do not jump at the ends."""
    value, slope, curvature = derivatives(function(interpolation), 2)
    outside = np.array([X[0] - 3.0, X[0] - 1e-9, X[-1] + 1e-9, X[-1] + 3.0])
    assert not np.any(evaluate([curvature], {"x": outside})[0])
    for end in (X[0], X[-1]):
        around = np.array([end - 1e-9, end + 1e-9])
        for one, tolerance in ((value, 1e-8), (slope, 1e-7)):
            below, above = evaluate([one], {"x": around})[0]
            assert below == pytest.approx(above, abs=tolerance)


@pytest.mark.parametrize("interpolation", sorted(FUNCTIONS.keys() - {"pchip"}))
def test_two_derivatives_are_continuous(interpolation):
    found = derivatives(function(interpolation), 2)
    jumps = X[1:-1] if interpolation != "linear" else np.concatenate([X[1:-1] - WIDTH / 2, X[1:-1] + WIDTH / 2])
    for one in found:
        below, above = evaluate([one], {"x": jumps - 1e-9})[0], evaluate([one], {"x": jumps + 1e-9})[0]
        np.testing.assert_allclose(below, above, atol=1e-6)


def test_end_conditions():
    inside = np.linspace(X[0], X[-1], 100)
    for interpolation, ends in (("natural", "natural"), ("clamped", "clamped"), ("not_a_knot", "not-a-knot")):
        wanted = CubicSpline(X, Y, bc_type=ends)(inside)
        np.testing.assert_allclose(function(interpolation).value(inside), wanted, atol=1e-14)
    np.testing.assert_allclose(function("pchip").value(inside), PchipInterpolator(X, Y)(inside), atol=1e-14)


def test_simm_has_the_third_derivatives_of_the_cubics_through_the_four_points_at_each_end():
    third = derivatives(function("simm"), 3)[-1]
    for end, points in ((X[0], slice(0, 4)), (X[-1], slice(-4, None))):
        inside = end + np.array([1e-3]) * (1 if end == X[0] else -1)
        cubic = np.polyfit(X[points], Y[points], 3)[0]
        assert evaluate([third], {"x": inside})[0][0] == pytest.approx(6.0 * cubic, rel=1e-10)


def test_a_simm_spline_of_a_cubic_is_this_cubic_and_of_three_points_a_parabola():
    cubic = continued(X, X**3 - X, "simm")
    inside = np.linspace(X[0], X[-1], 50)
    np.testing.assert_allclose(cubic.value(inside), inside**3 - inside, atol=1e-13)
    parabola = continued(X[:3], X[:3] ** 2, "simm")
    np.testing.assert_allclose(parabola.value(inside[:20]), inside[:20] ** 2, atol=1e-13)


def test_lines_between_rounded_corners_are_those_of_the_table():
    away = np.array([-1.6, -0.5, 0.2, 1.0, 1.8])
    np.testing.assert_allclose(function("linear").value(away), np.interp(away, X, Y), atol=1e-15)


@pytest.mark.parametrize("points", [2, 3])
@pytest.mark.parametrize("interpolation", sorted(FUNCTIONS.keys() - {"linear"}))
def test_few_points(interpolation, points):
    piecewise = continued(X[:points], Y[:points], interpolation)
    np.testing.assert_allclose(piecewise.value(X[:points]), Y[:points], atol=1e-15)


@pytest.mark.parametrize("interpolation", sorted(FUNCTIONS.keys() - {"clamped"}))
def test_two_points_are_a_line(interpolation):
    found = continued(X[:2], Y[:2], interpolation).value(PLACES)
    np.testing.assert_allclose(found, Y[0] + (PLACES - X[0]) * (Y[1] - Y[0]) / (X[1] - X[0]), rtol=0, atol=1e-14)


def test_clamped_ends_have_no_slope_also_of_two_points():
    """Two points are a cubic, 3 u^2 - 2 u^3."""
    for points in (2, 3, 6):
        slope = derivatives(continued(X[:points], Y[:points], "clamped"), 1)[1]
        ends = np.array([X[0], X[points - 1] - 1e-12])
        np.testing.assert_allclose(evaluate([slope], {"x": ends})[0], 0.0, atol=1e-11)
    u = np.linspace(0.0, 1.0, 9)
    found = continued(X[:2], Y[:2], "clamped").value(X[0] + u * (X[1] - X[0]))
    np.testing.assert_allclose(found, Y[0] + (Y[1] - Y[0]) * (3.0 * u**2 - 2.0 * u**3), atol=1e-15)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_agree_with_differences(order):
    for interpolation in FUNCTIONS:
        *_, lower, upper = derivatives(function(interpolation), order)
        at, h = np.array([-2.3, -1.6, -0.5, 0.22, 0.8, 1.8]), 1e-5  # away from knots
        above, below = (evaluate([lower], {"x": at + s * h})[0] for s in (1, -1))
        np.testing.assert_allclose((above - below) / (2 * h), evaluate([upper], {"x": at})[0], atol=1e-5)


def test_formulas_of_tables_fold_constants_and_are_one_node():
    piecewise = function("natural")
    assert table(piecewise, x) is table(function("natural"), x)
    assert table(piecewise, 0.4) == pytest.approx(0.5, abs=1e-15)
    assert table(Piecewise((0.0,), ((0.0, 0.0),)), x) == 0.0
    assert substitute([table(piecewise, x)], {x: 0.4}) == [table(piecewise, 0.4)]


@kernel
def _evaluate(address, q, out):
    for k in range(len(q)):
        call_on_arrays(address, (q[k : k + 1], out[k]))


@pytest.mark.parametrize("interpolation", FUNCTIONS)
def test_compiled_code_has_the_same_values(interpolation):
    q = name("q[0]")
    values = [one for one in derivatives(function(interpolation), 3) if one != 0.0]
    values = [value for one in values for value in substitute([one], {x: q})]
    lines = write_lines([(f"out[{k}]", one * 2.0) for k, one in enumerate(values)])
    address = address_of("A table.", "def generated(q, out):\n" + "".join(f"    {line}\n" for line in lines), "ff")
    out = np.zeros((len(PLACES), len(values)))
    _evaluate(address, np.array(PLACES), out)
    wanted = np.array(evaluate(values, {"q[0]": np.array(PLACES)})).T
    np.testing.assert_allclose(out, 2.0 * wanted, rtol=1e-13, atol=1e-13)


def test_vectors_and_dual_numbers_have_the_values_of_numbers():
    q = name("q[0]")
    piecewise = function("simm")
    value = table(piecewise, sin(q) + q)
    body = f"def generated(q, out):\n    out[0] = {write_lines([('y', value)])[-1].removeprefix('y = ')}\n"
    angles = np.linspace(-2.0, 2.0, LANES)
    lanes, found = angles.reshape(1, LANES).copy(), np.zeros((1, LANES))
    _call(address_of("Lanes.", body, "vv"), lanes, found)
    np.testing.assert_allclose(found[0], piecewise.value(np.sin(angles) + angles), rtol=1e-14)
    dual, out = np.zeros((1, 1 + LANES)), np.zeros((1, 1 + LANES))
    dual[0, 0], dual[0, 1:] = 0.7, np.arange(LANES)
    _call(address_of("Duals.", body, "dd"), dual, out)
    slope = evaluate(differentiate([value], {q: 1.0}), {"q[0]": 0.7})[0]
    assert out[0, 0] == pytest.approx(float(piecewise.value(np.sin(0.7) + 0.7)), rel=1e-14)
    np.testing.assert_allclose(out[0, 1:], slope * np.arange(LANES), rtol=1e-13)


@kernel
def _call(address, q, out):
    call_on_arrays(address, (q, out))


def test_points_and_widths_have_units():
    corner = {"x": ["0 deg", "90 deg", "180 deg"], "y": ["0 cm", "5 cm", 0], "interpolation": "linear"}
    read = TableFunctionSpec.model_validate({**corner, "smoothing": "18 deg"})
    np.testing.assert_allclose([*read.x, *read.y, read.smoothing], [0, np.pi / 2, np.pi, 0, 0.05, 0, np.pi / 10])
    for width in ("nan", "-1 deg", "91 deg", [1]):
        with pytest.raises(ValueError, match="smoothing"):
            TableFunctionSpec.model_validate({**corner, "smoothing": width})
    with pytest.raises(ValueError, match="found a list of 1"):
        TableFunctionSpec.model_validate({"x": [0], "y": [0, 1]})
