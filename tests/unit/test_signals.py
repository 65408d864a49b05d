"""Functions of time: value, first and second derivative of every function, operator and table."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
import sympy
from scipy.interpolate import CubicSpline

from multibody_cli.expressions import STATE, parse
from multibody_cli.interpolation import INTERPOLATIONS
from multibody_cli.knots import knots_of
from multibody_cli.packing.signals import SignalPacker
from multibody_cli.signals import FUNCTIONS, Operation, derivative_along, evaluate
from multibody_cli.spec.table_function import TableFunctionSpec

t = sympy.Symbol("t", real=True)
EXPRESSIONS = [
    "3",
    "t",
    "-t",
    "+t",
    "pi*t + e - tau",
    "t + sin(t)",
    "t - cos(t)",
    "t * exp(-t) * sin(3*t)",
    "sin(t) / (2 + cos(2*t))",
    "t**3",
    "t**-2",
    "t**0.5",
    "t**0",
    "t**1",
    "(t - 2)**2",
    "(t - 2)**3",
    "2**t",
    "t**t",
    "(1 + t**2)**sin(t)",
    "sqrt(1 + t**2)",
    "exp(sin(t))",
    "log(1 + t**2)",
    "sin(t**2)",
    "cos(t**2)",
    "tan(0.5*t)",
    "asin(0.4*sin(t))",
    "acos(0.4*sin(t))",
    "atan(t**2)",
    "atan2(sin(2*t), t - 3)",
    "sinh(0.5*t)",
    "cosh(sin(t))",
    "tanh(t - 1)",
    "abs(t - 2)",
    "min(t, 1.5, 3 - t)",
    "max(sin(t), cos(t))",
    "sign(t - 1)*t**2",
    "floor(3*t)*t",
    "ceil(3*t)*t",
    "1 - (2 - (3 - (4 - t)))",
    "(((1 + t)*(2 + t))*((3 + t)*(4 + t)))*(((5 + t)*(6 + t))*((7 + t)*(8 + t)))",
]
NAMES = {"e": sympy.E, "tau": 2 * sympy.pi, "min": sympy.Min, "max": sympy.Max, "ceil": sympy.ceiling, "t": t}


def packed(expression: str):
    packer = SignalPacker()
    packer.add_constant(99.0)  # so that the signal does not begin at 0
    k = packer.add_expression(parse(expression).body)
    return packer.pack(), k


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_value_and_derivatives_agree_with_sympy(text):
    signals, k = packed(text)
    symbolic = sympy.sympify(text, locals=NAMES)
    for at in (0.37, 1.1, 1.73, 2.9):
        found = evaluate(signals, k, at)
        assert found[0] == pytest.approx(float(symbolic.subs(t, at)), rel=1e-13, abs=1e-13)
        for order in (1, 2):
            assert found[order] == pytest.approx(derivative(symbolic, order, at), rel=1e-11, abs=1e-11)


def derivative(symbolic, order, at):
    """By differences in fifty digits, which no kink nearby disturbs."""
    with sympy.evaluate(True):
        h = sympy.Float("1e-15", 60)
        x = sympy.Float(at, 60)
        low, mid, high = (symbolic.subs(t, x + s * h).evalf(60) for s in (-1, 0, 1))
    return float((high - low) / (2 * h)) if order == 1 else float((high - 2 * mid + low) / h**2)


def test_every_function_is_tested_above():
    assert all(any(f"{name}(" in text for text in EXPRESSIONS) for name in FUNCTIONS)


def test_every_operation_is_reached_by_a_program():
    used = {int(code) for text in EXPRESSIONS for code in packed(text)[0].code}
    packer = SignalPacker()
    table = packer.add_table(np.array([0.0, 2.0]), np.array([1.0, 5.0]), "linear", of_time=False)
    k = packer.add_expression(ast.parse("table(x) + t", mode="eval").body, {"x": 0}, {"table": table})
    signals = packer.pack(1)
    signals.quantities[0], signals.directions[0] = 0.5, 3.0
    assert evaluate(signals, k, 0.25) == (2.25, 1.0, 0.0)
    assert derivative_along(signals, k, 0.25) == 6.0
    assert len(knots_of(signals, 1.0).at) == 0
    used |= {int(code) for code in signals.code}
    own = SignalPacker({}, {"f": TableFunctionSpec(x=[0.0, 2.0], y=[1.0, 5.0])})
    own.add_expression(parse("functions.f(t)", STATE).body)
    used |= {int(code) for code in own.pack().code}
    assert used == {int(operation) for operation in Operation}


@pytest.mark.parametrize(
    ("text", "at", "behind"),
    [
        ("min(t, 2)**2 + (max(t, 2) - 4)**2", 2.0, (8.0, -4.0, 2.0)),  # pieces of a function with a slope of its own
        ("min(2, t) + max(2, t)", 2.0, (4.0, 1.0, 0.0)),
        ("max(2, t)", 2.0, (2.0, 1.0, 0.0)),
        ("min(t, 2)", 2.0, (2.0, 0.0, 0.0)),
        ("abs(2 - t)", 2.0, (0.0, 1.0, 0.0)),
        ("abs(t - 2)", 2.0, (0.0, 1.0, 0.0)),
        ("max(t**2, 2*t**2)", 0.0, (0.0, 0.0, 4.0)),
        ("min(t**2, 2*t**2)", 0.0, (0.0, 0.0, 2.0)),
        ("abs(-t**2)", 0.0, (0.0, 0.0, 2.0)),
        ("min(2, 3 - 1)", 5.0, (2.0, 0.0, 0.0)),
    ],
)
def test_at_a_knot_the_derivatives_are_those_behind_it(text, at, behind):
    signals, k = packed(text)
    assert evaluate(signals, k, at) == behind


@pytest.mark.parametrize("text", ["t**2", "(t - 1)**2", "(t - 1)**3", "abs(t)**3"])
def test_integer_powers_are_smooth_at_zero_base(text):
    at = 1.0 if "1" in text else 0.0
    signals, k = packed(text)
    value, first, second = evaluate(signals, k, at)
    assert (value, first) == (0.0, 0.0)
    assert second == (2.0 if text.endswith("2") else 0.0)


def test_the_stack_is_as_deep_as_the_deepest_program_and_no_deeper():
    signals, k = packed("1 + (2 + (3 + (4 + t)))")
    assert signals.stack.shape == (5, 3)
    assert evaluate(signals, k, 0.5)[0] == 10.5
    assert packed("((1 + 2) + 3) + t")[0].stack.shape == (2, 3)


def test_signals_of_one_model_are_independent():
    packer = SignalPacker()
    numbers = [
        packer.add_expression(parse("t**2").body),
        packer.add_table(np.array([0.0, 1.0]), np.array([1.0, 2.0]), "linear"),
        packer.add_constant(5.0),
        packer.add_table(np.array([0.0, 2.0, 4.0]), np.array([0.0, 4.0, 0.0]), "linear"),
        packer.add_expression(parse("min(t, 1) - max(t, 2)").body),
    ]
    signals = packer.pack()
    assert [evaluate(signals, k, 0.5)[0] for k in numbers] == [0.25, 1.5, 5.0, 1.0, -1.5]


# --- tables ------------------------------------------------------------------------------------------------
TIMES, VALUES = np.array([0.5, 1.0, 2.5, 3.0, 4.0]), np.array([1.0, -1.0, 2.0, 2.5, 0.0])


def table(interpolation):
    packer = SignalPacker()
    packer.add_table(TIMES[:2], VALUES[:2], "linear")
    k = packer.add_table(TIMES, VALUES, interpolation)
    signals = packer.pack()
    return lambda at: evaluate(signals, k, at)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_a_table_interpolates_its_points_and_is_constant_outside(interpolation):
    signal = table(interpolation)
    for time, value in zip(TIMES, VALUES, strict=True):
        assert signal(time)[0] == pytest.approx(value, abs=1e-15)
        assert signal(np.nextafter(time, 0))[0] == pytest.approx(value, abs=1e-13)
    assert signal(0.5 - 1e-9) == (1.0, 0.0, 0.0)
    assert signal(-100.0) == (1.0, 0.0, 0.0)
    assert signal(4.0 + 1e-9) == (0.0, 0.0, 0.0)
    # a run that ends with its table still moves at its last instant
    assert signal(4.0)[1:] == pytest.approx(signal(4.0 - 1e-12)[1:], rel=1e-9, abs=1e-9)
    assert abs(signal(4.0)[1]) > 1.0
    assert signal(1e9) == (0.0, 0.0, 0.0)


def test_a_linear_table_is_piecewise_linear():
    signal = table("linear")
    for at in np.linspace(0.51, 3.99, 53):
        assert signal(at)[0] == pytest.approx(np.interp(at, TIMES, VALUES), abs=1e-15)
        assert signal(at)[2] == 0.0
    assert signal(1.75)[1] == pytest.approx(2.0)


def test_a_cubic_table_is_the_not_a_knot_spline_with_its_derivatives():
    signal, spline = table("cubic"), CubicSpline(TIMES, VALUES)
    for at in np.linspace(0.51, 3.99, 53):
        np.testing.assert_allclose(signal(at), [spline(at, nu) for nu in range(3)], rtol=0, atol=1e-12)
    for knot in TIMES[1:-1]:
        np.testing.assert_allclose(signal(knot), signal(np.nextafter(knot, 0)), atol=1e-11)


@pytest.mark.parametrize("count", [2, 3])
def test_a_cubic_table_of_few_points_is_the_polynomial_through_them(count):
    packer = SignalPacker()
    k = packer.add_table(TIMES[:count], VALUES[:count], "cubic")
    polynomial = np.polynomial.Polynomial.fit(TIMES[:count], VALUES[:count], count - 1)
    value, first, second = evaluate(packer.pack(), k, 0.8)
    assert value == pytest.approx(polynomial(0.8))
    assert first == pytest.approx(polynomial.deriv()(0.8))
    assert second == pytest.approx(polynomial.deriv(2)(0.8) if count > 2 else 0.0, abs=1e-12)


@pytest.mark.parametrize("text", ["sqrt(t)", "log(t)", "asin(2 + t)", "1/t", "t**0.5"])
def test_undefined_values_are_nonfinite_without_an_error(text):
    signals, k = packed(text)
    assert not math.isfinite(sum(evaluate(signals, k, 0.0)))
