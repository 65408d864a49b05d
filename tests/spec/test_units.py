"""The table of common units agrees with pint, and dimensions are distinguished."""

import math

import pint
import pytest

from multibody_cli.errors import QuantityError
from multibody_cli.spec import units
from multibody_cli.spec.quantities import read_quantity

REGISTRY = pint.application_registry


@pytest.mark.parametrize("name", sorted(units.COMMON))
def test_table_agrees_with_pint(name):
    unit = units.COMMON[name]
    found = units._from_pint(name)
    assert unit.factor == pytest.approx(found.factor, rel=1e-15)
    assert unit.dimension == found.dimension


@pytest.mark.parametrize(
    "text",
    ["500 kg/m^3", "7.8 g/cm**3", "2 N*m", "3 N m/rad", "1e3 N*s/m", "-9.81 m/s^2", "4 kg*m^2", "90 deg/s",
     "1 J/(kg*m)", "12 lbf", "3 inch", "1 ft*lbf", "5 mm/min", "2 N/mm", "2 kN/(m/s)"],
)  # fmt: skip
def test_compound_units_agree_with_pint(text):
    number, dimension = units.quantity(text)
    found = REGISTRY.Quantity(text).to_base_units()
    assert number == pytest.approx(found.magnitude, rel=1e-14)
    powers = found.dimensionality
    assert dimension[:3] == tuple(powers.get(f"[{name}]", 0) for name in ("mass", "length", "time"))


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("30 deg", units.ANGLE, math.pi / 6),
        ("250 g", units.MASS, 0.25),
        ("12 mm", units.LENGTH, 0.012),
        ("2 rpm", units.ANGULAR_SPEED, 4 * math.pi / 60),
        ("1ms", units.TIME, 1e-3),
        ("1.5", units.LENGTH, 1.5),
        ("90°", units.ANGLE, math.pi / 2),
    ],
)
def test_quantities_of_a_scene(text, kind, value):
    assert read_quantity(text, kind) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("1 kg", units.LENGTH, r"expected a length \(m\), but `1 kg` is a mass"),
        ("1 deg", units.LENGTH, r"expected a length \(m\), but `1 deg` is a plain number or an angle"),
        ("20 degC", units.LENGTH, "but `20 degC` is another quantity"),
        ("1 A*m", units.LENGTH, "but `1 A\\*m` is another quantity"),
        ("3 blorps", units.LENGTH, "unknown unit `blorps`"),
        ("9.8¼", units.LENGTH, "unknown unit `¼`"),
        ("1e400 m", units.LENGTH, "found a number that is not finite"),
        ("m", units.LENGTH, r"expected a length \(m\), found `m`"),
        ("1 m m^", units.LENGTH, "found `1 m m\\^`"),
        ("1 m/", units.LENGTH, "`m/` is not a unit"),
        ("1 m^99999", units.LENGTH, "expected a length"),
        ("2 Hz", units.ANGULAR_SPEED, "write rad/s, deg/s, turn/s or rpm in place of `Hz`"),
        ([1], units.LENGTH, r"expected a length \(m\), found a list"),
        (None, units.LENGTH, r"expected a length \(m\), found nothing"),
    ],
)
def test_refusals(text, kind, message):
    with pytest.raises(QuantityError, match=message):
        read_quantity(text, kind)


def test_common_units_need_no_pint():
    import subprocess
    import sys

    code = (
        "import sys; from multibody_cli.spec import units; units.quantity('3 kg*m^2/s');sys.exit('pint' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "value"), [("2 Nm", 2.0), ("2 kNm", 2000.0), ("2 Nmm", 2e-3), ("2 N m", 2.0), ("2 N*m", 2.0)]
)
def test_common_spellings_of_torque_units_are_accepted(text, value):
    found = units.quantity(text)
    assert found is not None
    assert found[0] == pytest.approx(value, rel=1e-15)
    assert found[1] == units.TORQUE.dimension


def test_a_quantity_has_at_most_120_characters():
    longest = "1." + "0" * 116 + " m"
    assert len(longest) == 120
    assert units.split_quantity(longest) == (1.0, "m")
    assert units.split_quantity("0" + longest) is None
