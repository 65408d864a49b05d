"""Plain scalars are those of YAML 1.2, not of YAML 1.1."""

import math

import pytest

from multibody_cli.yaml_values import scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-7", -7), ("+7", 7), ("007", 7), ("0o17", 15), ("0xff", 255),
        ("1e-3", 1e-3), ("1.", 1.0), (".5", 0.5), ("-.5e2", -50.0), ("+1.5E+2", 150.0),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        (".inf", math.inf), ("-.INF", -math.inf),
    ],
)  # fmt: skip
def test_values(text, value):
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "yes",
        "on",
        "off",
        "y",
        "12:30",
        "1_000",
        "0b11",
        "2024-01-01",
        "1e",
        "e5",
        ".",
        "-",
        "+",
        "0x",
        "inf",
        "nan",
        "<<",
        "=",
        "١٢",
    ],
)
def test_texts(text):
    assert scalar(text) == text


def test_not_a_number():
    assert math.isnan(scalar(".nan"))


def test_whole_numbers_beyond_a_float_become_floats():
    assert scalar("9007199254740993") == 9007199254740992.0
    assert isinstance(scalar("9" * 30), float)
    assert scalar("9" * 400) == math.inf
    assert scalar("0x" + "f" * 400) == math.inf
