"""Short forms of formulas: equal values, fewer terms, no round-off."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from machines import pack
from strategies import machines
from test_equations import values_of, written

from multibody_cli.equations.chain import chain_of
from multibody_cli.equations.simplified import MAX_OPERATIONS, latex_of, simplified, sum_of, text_of
from multibody_cli.equations.terms import terms_of
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import apply, cos, name, power, sin, sqrt

x, y, z = (name(word) for word in ("q1", "q2", "q3"))


def text(value, units=()):
    """The one formula of a value."""
    found = simplified([value], units)
    assert not found.intermediate
    return text_of(found.formulas[0])


def worked_out(found, numbers):
    """Numbers of formulas that may have intermediate quantities."""
    lines = [f"{symbol} = {sympy.pycode(formula)}" for symbol, formula in found.intermediate]
    names = {"math": math, **numbers}
    exec("\n".join([*lines, f"values = [{', '.join(map(sympy.pycode, found.formulas))}]"]), names)
    return [float(value) for value in names["values"]]


@given(machines(max_bodies=2, driven=False, loaded=False, runs=written))
@settings(max_examples=24)
def test_simplified_terms_have_the_same_values(machine):
    packed = pack(machine)
    tree, q, v = packed.tree.tree, packed.tree.q, packed.tree.v
    chain = chain_of(tree, packed.tree.joint_maps, q)
    terms = terms_of(tree, chain)
    values = [value for row in terms.M for value in row] + terms.h
    numbers = values_of(chain, q, v)
    units = [[one.text for one in four] for four in chain.coordinates.quaternions]
    expected = np.array(evaluate(values, numbers), float)
    found = np.array(worked_out(simplified(values, units), numbers))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max(initial=1e-300))


@pytest.mark.parametrize(
    ("value", "short"),
    [
        (power(sin(x), 2) + power(cos(x), 2), "1"),
        (1.0 - power(cos(x), 2), "sin(q1)**2"),
        (cos(x) * cos(y) - sin(x) * sin(y), "cos(q1 + q2)"),
        (sin(x) * cos(-x) * y, "0.5*q2*sin(2*q1)"),
        ((x * x - y * y) / (x - y), "q1 + q2"),
        (sqrt(x * x + 1.0) * sqrt(x * x + 1.0), "q1**2 + 1"),
        (1.0 / sqrt(1.0 + x) * sqrt(1.0 + x), "1"),
        (x / (x * y), "1/q2"),
        (apply("tan", x) * cos(x), "sin(q1)"),
        (apply("exp", x - x * 1.0 + y), "exp(q2)"),
        (y * (3.0 * x + sin(x)) * cos(z), "q2*(3*q1 + sin(q1))*cos(q3)"),
    ],
)
def test_short_forms(value, short):
    assert sympy.simplify(sympy.sympify(text(value)) - sympy.sympify(short)) == 0
    assert len(text(value)) <= len(short)


def test_the_squares_of_a_unit_quaternion_sum_to_one():
    w = name("q4")
    square = x * x + y * y + z * z + w * w
    assert text(square, [("q1", "q2", "q3", "q4")]) == "1"
    assert text(square) != "1"


def test_round_off_coefficients_are_removed():
    right = math.cos(math.pi / 2)
    assert text(3.0 * cos(x) + right * sin(x)) == "3*cos(q1)"
    assert text((x + 0.1 * y) * (x + 0.2 * y) - x * x - 0.3 * x * y - 0.02 * y * y + 1e-3 * z) == "0.001*q3"
    assert text(1e-20 * x + 2e-20 * sin(y)) == "1.0e-20*q1 + 2.0e-20*sin(q2)"  # small, and not beside anything


def test_small_coefficients_beside_large_ones_are_kept():
    small = (1e6 + x) - 1e6
    assert text(small * small * small) == "q1**3"


def test_a_long_formula_is_written_by_parts():
    value = power(x + y + z + sin(x) + cos(y) + sqrt(z + 2.0), 12) * sin(x * y)
    found = simplified([value])
    assert found.intermediate
    assert (
        sympy.count_ops(found.formulas[0]) + sum(sympy.count_ops(one) for _, one in found.intermediate) < MAX_OPERATIONS
    )
    numbers = {"q1": 0.3, "q2": -0.4, "q3": 0.9}
    assert worked_out(found, numbers) == pytest.approx(evaluate([value], numbers), rel=1e-8)


def test_sums_and_names_are_written_in_reading_order():
    assert sum_of(["-3*x", "-y", "z"]) == "-3*x - y + z"
    assert sum_of([]) == "0"
    assert text_of("table(t)") == "(table(t))"
    assert latex_of("its_own") == r"\text{its\_own}"


def test_coordinates_are_relative_to_the_start_of_a_spline_piece():
    far = power(x - 500.0, 3) * (2.0 + x)
    found = simplified([far], (), {"q1": 500.0})
    assert [text_of(one) for pair in found.intermediate for one in pair] == ["u1", "q1 - 500"]
    assert text_of(found.formulas[0]) == "u1**3*(u1 + 502)"
