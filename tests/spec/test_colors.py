"""Colors of a scene file."""

from __future__ import annotations

import pytest

from multibody_cli.spec.colors import NAMES, read_color


def test_names_digits_and_numbers_are_the_same_color():
    assert len(NAMES) == 148
    assert read_color("RebeccaPurple") == read_color("#663399") == read_color([0.4, 0.2, 0.6])
    assert read_color("white") == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("reed", "there is no color `reed`: did you mean `red`?"),
        ("#12345", "expected six hexadecimal digits after #, as in #0072b2, found `#12345`"),
        ([0.1, 0.2], "expected a name, #rrggbb, or [r, g, b] between 0 and 1, found a list of 2"),
        ([0.1, 0.2, 255], "expected [r, g, b] between 0 and 1, found 255"),
    ],
)
def test_an_invalid_color_is_refused(value, message):
    with pytest.raises(ValueError, match=r"^\w") as error:
        read_color(value)
    assert str(error.value) == message
