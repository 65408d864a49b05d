"""Formulas: folding, exact derivatives against SymPy and differences, and equivalent generated source."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import parse
from multibody_cli.kernel import kernel
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.evaluation import evaluate, substitute
from multibody_cli.symbolic.generated import address_of, call
from multibody_cli.symbolic.program import write_lines
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import (
    FUNCTIONS,
    Scalar,
    apply,
    cos,
    fresh_graph,
    name,
    power,
    sin,
    sqrt,
    topological_order,
)

x, y, z = map(name, "xyz")
AT = {"x": 0.37, "y": -0.61, "z": 1.83}


def test_constants_zeros_and_ones_are_folded():
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert x * 1.0 is x
    assert x * 0.0 == 0.0
    assert 0.0 / x == 0.0
    assert x / 1.0 is x
    assert x - x == 0.0
    assert x / x == 1.0
    opposite = -x
    assert -opposite is x
    assert (-x) * (-y) is x * y
    assert x + (-y) is x - y
    assert (-x) + y is y - x
    assert -(x - y) is y - x
    assert 2.0 * (3.0 * x) is 6.0 * x
    assert x + x is 2.0 * x
    assert 3.0 * x - 2.0 * x is x
    assert 2.0 * x - 2.0 * x == 0.0
    assert sin(0.0) == 0.0
    assert power(x, 2.0) is x * x
    assert power(x, 0.0) == 1.0


def test_equal_formulas_are_one_node():
    assert sin(x * y) + z is z + sin(y * x)
    assert len(topological_order([sin(x * y) + cos(x * y)])) == 6


def test_products_of_a_formula_and_a_tuple_are_refused():
    with pytest.raises(TypeError):
        x * (1.0, 2.0, 3.0)


ONE_OF = {
    "acos": 0.3 * x, "asin": 0.3 * y, "atan": z, "cos": x, "cosh": y, "exp": x, "log": z, "sin": z, "sinh": x,
    "sqrt": z, "tan": x, "tanh": y,
}  # fmt: skip


@pytest.mark.parametrize("function", sorted(FUNCTIONS.keys() - {"floor"}))
def test_derivatives_of_every_function_agree_with_sympy(function):
    X, Y, Z = sympy.symbols("x y z")
    if function in ("atan2", "pow"):
        ours = apply(function, z, x)
        theirs = sympy.atan2(Z, X) if function == "atan2" else Z**X
    else:
        ours = apply(function, ONE_OF[function])
        inner = {"acos": 0.3 * X, "asin": 0.3 * Y}.get(function) or {"x": X, "y": Y, "z": Z}[ONE_OF[function].text]
        theirs = getattr(sympy, function)(inner)
    along, direction = {x: 1.0, y: 0.7, z: -0.4}, {X: 1.0, Y: 0.7, Z: -0.4}
    for _ in range(3):
        assert evaluate([ours], AT)[0] == pytest.approx(float(theirs.subs({X: AT["x"], Y: AT["y"], Z: AT["z"]})))
        (ours,) = differentiate([ours], along)
        theirs = sum(theirs.diff(symbol) * rate for symbol, rate in direction.items())


leaves = st.sampled_from([x, y, z]) | st.floats(0.2, 3.0)


@st.composite
def formulas(draw, depth=4):
    """Formulas that are smooth wherever x, y, z are."""
    if depth == 0:
        return draw(leaves)
    a, b = draw(formulas(depth - 1)), draw(formulas(depth - 1))
    kind = draw(st.integers(0, 6))
    if kind == 3:
        return a / (1.5 + b * b)
    return (a + b, a - b, a * b, None, apply("sin", a), sqrt(2.0 + a * a), -a)[kind]


@given(formulas())
def test_derivatives_are_those_of_the_numbers(formula):
    h = 1e-30
    (rate,) = evaluate(differentiate([formula], {x: 1.0, z: 2.0}), AT)
    (stepped,) = evaluate([formula], {**AT, "x": AT["x"] + 1j * h, "z": AT["z"] + 2j * h})
    assert rate == pytest.approx(np.imag(stepped) / h, rel=1e-12, abs=1e-13)


@given(formulas())
def test_a_name_may_be_replaced_by_a_number_or_a_formula(formula):
    (replaced,) = substitute([formula], {x: y * z, z: AT["z"]})
    assert "x" not in {node.text for node in topological_order([replaced])}
    wanted = evaluate([formula], {**AT, "x": AT["y"] * AT["z"]})[0]
    assert evaluate([replaced], AT)[0] == pytest.approx(wanted, rel=1e-13, abs=1e-14)


@given(st.lists(formulas(), min_size=1, max_size=4))
def test_source_gives_the_same_numbers(values):
    place = {word: getattr(math, word) for word in FUNCTIONS} | AT
    exec("\n".join(write_lines([(f"out{k}", value) for k, value in enumerate(values)])), place)
    found = [place[f"out{k}"] for k in range(len(values))]
    np.testing.assert_allclose(found, np.array(evaluate(values, AT), float), rtol=1e-14, atol=1e-300)


@given(st.lists(formulas(), min_size=1, max_size=4))
def test_no_value_is_computed_twice_in_the_source(values):
    lines = write_lines([(f"out{k}", value) for k, value in enumerate(values)])
    operations = sum(line.count(" + ") + line.count(" - ") + line.count(" * ") + line.count(" / ") for line in lines)
    nodes = topological_order(values)
    assert operations == sum(node.operation in "+-*/" for node in nodes)


@kernel
def called(address, q, v, c, out):
    call(address, q, 1, v, 0, c, 2, out)


def test_generated_code_is_called_on_parts_of_arrays():
    body = "def generated(q, v, c, out):\n    out[0] = sin(q[0]) + 10.0 * v[1] + 100.0 * c[0]\n"
    out = np.zeros(1)
    called(address_of("A test.", body), np.array([9.0, 0.5]), np.array([0.0, 2.0]), np.array([9.0, 9.0, 3.0]), out)
    assert out[0] == pytest.approx(math.sin(0.5) + 20.0 + 300.0, rel=1e-15)
    assert address_of("A test.", body) == address_of("A test.", body)


def test_expressions_become_formulas():
    values = {"x": x, "e": 0.5}
    formula = formula_of(parse("-e*cos(x)**2 + atan2(x, 2) - +pi/x"), values)
    assert isinstance(formula, Scalar)
    expected = -0.5 * math.cos(0.3) ** 2 + math.atan2(0.3, 2) - math.pi / 0.3
    assert evaluate([formula], {"x": 0.3})[0] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("function", ["abs(x)", "floor(x)", "ceil(x)", "sign(x)", "min(x, 1)", "max(x, 1)"])
def test_functions_with_corners_are_refused(function):
    with pytest.raises(ExpressionError, match="is not twice differentiable"):
        formula_of(parse(function), {"x": x})


@pytest.mark.parametrize("text", ["1/0", "log(-1)", "x + sqrt(-2)", "10.0**400", "1e200*1e200 + x", "x*1e308*1e308"])
def test_constants_without_a_value_are_refused(text):
    with pytest.raises(ExpressionError, match=r"`.*`: "):
        formula_of(parse(text), {"x": x})


def test_source_does_not_depend_on_earlier_formulas():
    def text():
        with fresh_graph():
            a, b = name("a"), name("b")
            return write_lines([("out", sin(a * b) + b * a)])

    alone = text()
    kept = name("b") * name("a")
    assert text() == alone
    assert name("b") * name("a") is kept
