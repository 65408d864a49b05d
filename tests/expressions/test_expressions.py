"""Expressions are arithmetic and nothing else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import FUNCTIONS, SIGNAL, TEMPLATE, parse, require_names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3", 7), ("2**10", 1024), ("2**-1", 0.5), ("2**0", 1), ("-2**2", -4), ("7 // 2", 3), ("7 % 3", 1),
        ("sin(pi/2)", 1.0), ("max(1, 2, 3)", 3), ("atan2(1, 1)", math.pi / 4), ("sign(-3)", -1),
        ("'world' if i == 0 else concat('link', i - 1)", "link2"), ("axes[i % 2]", [1, 0, 0]),
        ("1 < 2 < 3 and not 2 > 3", True), ("L/2", 0.25), ("tau/2 - pi", 0.0), ("[1, i]", [1, 3]),
    ],
)  # fmt: skip
def test_values(text, value):
    values = {"i": 3, "L": 0.5, "axes": [[0, 1, 0], [1, 0, 0]]}
    found = parse(text, TEMPLATE).evaluate(values)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["i == 0", "a if b else c", "'text'", "[1]", "x[0]", "5 % 2", "True", "concat(1)"])
def test_constructs_of_templates_are_refused_in_signals(text):
    parse(text, TEMPLATE)
    with pytest.raises(ExpressionError):
        parse(text, SIGNAL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("().__class__", "attribute access cannot be used here"),
        ("open('x')", "unknown function `open`"),
        ("(lambda: 1)()", "only functions can be called, by their names"),
        ("np.sin(1)", r"`np\.sin`: functions have no prefix: did you mean `sin`\?"),
        ("2*math.atan(np.arctan2(1, 1))", r"functions have no prefix: did you mean `atan2?`\?"),
        ("other(1).sin(1)", "only functions can be called, by their names"),
        ("sin", r"`sin` is a function: write `sin\(...\)`"),
        ("sin(1, 2)", r"`sin` takes 1 argument\(s\), 2 given"),
        ("sin(*[1])", "takes plain arguments only"),
        ("2 ^ 3", r"`\^` \(a power is `\*\*`\) cannot be used here"),
        ("1 +", "`1 \\+` is not an expression"),
        ("", "`` is not an expression$"),
        ("sin(20 deg)", "is not an expression: `20 deg` is a number with a word; .*`20\\*pi/180` for 20 deg"),
        ("2.5x + 1", "`2.5x` is a number with a word"),
        ("x1 y", "is not an expression$"),
        ("1e3 +", "is not an expression$"),
        ("(1 if 2 else", "is not an expression$"),
        ("1j", "1j cannot be used here"),
        ("1e999", "a number is too large"),
        ("(" * 250 + ")" * 250, "is not an expression"),
        ("+" * 500 + "1", "nested too deeply|is not an expression"),
    ],
)
def test_invalid_expressions_are_refused(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse(text, TEMPLATE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "division by zero"),
        ("log(0)", "`log\\(0\\)`"),
        ("exp(1e6)", "too large"),
        ("9**9**9**9", "too large"),
        ("(-8)**(1/3)", "not a real number"),
        ("'a' + 'b'", "arithmetic needs numbers, found 'a' \\(texts are joined by `concat"),
        ("word[0]", "only lists can be indexed"),
        ("[1, 2][-1]", "index -1 is outside a list of 2"),
        ("[1, 2][0.5]", "an index must be a whole number"),
        ("missing", "unknown name `missing`"),
        ("1 < 'a'", "not supported"),
        ("True + 1", "arithmetic needs numbers"),
    ],
)
def test_expressions_without_a_value_are_refused(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse(text, TEMPLATE).evaluate({"word": "abc"})


def test_names():
    assert parse("A*sin(w*t) + pi").names == {"A", "w", "t"}
    with pytest.raises(ExpressionError, match="unknown name `lenght`; did you mean `length`"):
        require_names(parse("2*lenght"), ["length", "width"])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_are_those_of_mathematics(name):
    arguments = [0.3, 0.7] if name in ("atan2", "min", "max") else [0.3]
    text = f"{name}({', '.join(map(str, arguments))})"
    expected = getattr(math, name, None) or {"abs": abs, "min": min, "max": max, "sign": math.copysign}[name]
    value = 1.0 if name == "sign" else expected(*arguments)
    assert parse(text).evaluate({}) == value


@given(a=st.integers(-99, 99), b=st.integers(1, 99), c=st.floats(-1e3, 1e3))
def test_agrees_with_python(a, b, c):
    text = f"({a} + {b})*({c!r}) - {a}/{b}"
    assert parse(text).evaluate({}) == (a + b) * c - a / b
