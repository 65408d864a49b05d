"""The curves of muscles: published numbers, smoothness at the knots, slopes and integrals of themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from wrapped_formulas import Formulas

from multibody_cli.forces import muscle_curves
from multibody_cli.forces.muscle_curves import (
    ACTIVE,
    ACTIVE_KNOTS,
    PASSIVE,
    PASSIVE_KNOTS,
    VELOCITY,
    VELOCITY_KNOTS,
    Condition,
    cubics,
    smooth,
)

CURVES = Formulas(muscle_curves)
KNOTS = {"passive": PASSIVE_KNOTS, "active": ACTIVE_KNOTS, "velocity": VELOCITY_KNOTS}
RANGES = {"passive": (0.6, 2.1), "active": (0.2, 2.0), "velocity": (-1.3, 1.3)}

PUBLISHED = {
    "passive": {
        1.0: 0.0,
        1.05: 0.001907402815958692,
        1.15: 0.022911001795470565,
        1.25: 0.07959827290919153,
        1.3: 0.12611026589287988,
        1.35: 0.18901568262192292,
        1.5: 0.47372349829058,
        1.65: 0.8589294029470445,
        1.7: 1.0,
        1.9: 1.5714285714285718,
    },
    "active": {
        0.45: 0.046231901312467905,
        0.6: 0.5004229333055461,
        0.7: 0.7670203683963843,
        0.85: 0.9406660644693641,
        1.0: 1.0,
        1.1: 0.9728226748532498,
        1.2: 0.89,
        1.3: 0.7482943345057542,
        1.5: 0.3697145299789515,
        1.8: 0.000530254091957616,
    },
    "velocity": {
        -0.9: 0.0009152534738632312,
        -0.5: 0.11440668423304567,
        -0.3: 0.31393194153548043,
        -0.05: 0.7847154471544715,
        -0.025: 0.8765955284552845,
        0.0: 1.0,
        0.025: 1.1124288617886178,
        0.05: 1.1713821138211382,
        0.3: 1.3085395130959623,
        0.9: 1.399733351350134,
    },
}
"""Values of the curves, solved in double precision by a program of their own."""

COEFFICIENTS = {
    "passive": (
        PASSIVE,
        (2.55305620081729, -7.02386028610914, 6.38855196976641, -1.91774788447456),
        (-2.76122280853939, 14.6587935048229, -23.0429533092186, 11.3749950550874),
    ),
    "active": (
        ACTIVE,
        (-39.881247949014, 68.3443204612586, -35.5324573534802, 5.83029153632759),
        (-0.322674853252855, -1.71744046959073, 4.40290549894003, -1.36279017609645),
        (4.85118460831817, -20.9908796589089, 28.3080866793169, -11.2356843095252),
    ),
    "velocity": (
        VELOCITY,
        (0.915253473864379, 2.74576042159314, 2.74576042159314, 0.915253473864378),
        (-453.333333333333, -8.78048780487805, 5.0, 1.0),
        (0.266648649866, -0.799945949598001, 0.799945949598001, 1.133351350134),
    ),
}
"""As printed in Sueda's notes, (1.42), (1.44) and (1.46)."""

OUTSIDE = [
    ("passive", 0.99, 0.0, 0.0),
    ("passive", -3.0, 0.0, 0.0),
    ("passive", 1.8, 1.2857142857142863, 2.85714285714286),
    ("passive", 2.7, 1.0 + 2.85714285714286, 2.85714285714286),
    ("active", 0.39, 0.0, 0.0),
    ("active", 1.82, 0.0, 0.0),
    ("velocity", -1.01, 0.0, 0.0),
    ("velocity", -9.0, 0.0, 0.0),
    ("velocity", 1.01, 1.4, 0.0),
    ("velocity", 9.0, 1.4, 0.0),
]

every_curve = pytest.mark.parametrize("curve", KNOTS)


def value_and_slope(curve: str, x: float) -> tuple[float, float]:
    value, slope = getattr(CURVES, curve)(float(x))
    return value, slope


# --- published numbers ----------------------------------------------------------------------------------------------
@every_curve
def test_values_agree_with_the_published_table(curve: str) -> None:
    found = {x: value_and_slope(curve, x)[0] for x in PUBLISHED[curve]}
    assert found == pytest.approx(PUBLISHED[curve], rel=0, abs=1e-10)


@every_curve
def test_coefficients_agree_with_the_paper(curve: str) -> None:
    found, *printed = COEFFICIENTS[curve]
    np.testing.assert_allclose(found, printed, rtol=0, atol=1e-10)


def test_the_third_condition_as_printed_defines_another_curve() -> None:
    """The passive curve passes through (1.7, 1): with (1.8, 1) the printed coefficients are not the solution."""
    conditions = [
        Condition(0, 1.0, 0, 0.0),
        Condition(0, 1.0, 1, 0.0),
        Condition(0, 1.3, 0, 0.126110265892917),
        Condition(0, 1.3, 1, 1.07051016402631),
        *smooth(0, 1.3),
        Condition(1, 1.8, 0, 1.0),
        Condition(1, 1.7, 1, 2.85714285714286),
    ]
    assert np.abs(np.subtract(cubics(2, conditions), PASSIVE)).max() > 1.0


@pytest.mark.parametrize(("curve", "x", "value", "slope"), OUTSIDE)
def test_values_and_slopes_outside_the_knots(curve: str, x: float, value: float, slope: float) -> None:
    assert value_and_slope(curve, x) == pytest.approx((value, slope), rel=0, abs=1e-12)


# --- what they are to themselves ------------------------------------------------------------------------------------
@every_curve
def test_value_and_slope_are_continuous_at_the_knots(curve: str) -> None:
    for knot in KNOTS[curve]:
        below, at, above = (value_and_slope(curve, x) for x in (np.nextafter(knot, -9), knot, np.nextafter(knot, 9)))
        assert below == pytest.approx(at, rel=0, abs=2e-12)
        assert above == pytest.approx(at, rel=0, abs=2e-12)


@every_curve
def test_slope_is_the_derivative_of_the_value(curve: str) -> None:
    """Central differences of fourth order are exact for a cubic, and so are their steps within one piece."""
    h = 1e-4
    for x in np.linspace(*RANGES[curve], 173):
        if min(abs(x - knot) for knot in KNOTS[curve]) > 2 * h:
            a, b, c, d = (value_and_slope(curve, x + k * h)[0] for k in (-2, -1, 1, 2))
            assert value_and_slope(curve, x)[1] == pytest.approx((a - 8 * b + 8 * c - d) / (12 * h), rel=0, abs=1e-10)


def test_the_force_is_greatest_at_the_optimal_length_and_zero_velocity() -> None:
    assert value_and_slope("active", 1.0) == pytest.approx((1.0, 0.0), rel=0, abs=1e-12)
    assert value_and_slope("velocity", 0.0) == (1.0, 5.0)


@pytest.mark.parametrize("x", [0.5, 1.0, 1.1, 1.3, 1.45, 1.7, 1.75, 2.4])
def test_the_passive_energy_is_the_integral_of_the_passive_force(x: float) -> None:
    inner = [knot for knot in PASSIVE_KNOTS if knot < x]
    wanted, _ = quad(lambda s: value_and_slope("passive", s)[0], 0.0, x, points=inner or None, epsabs=1e-13, epsrel=0)
    assert CURVES.passive_energy(x) == pytest.approx(wanted, rel=0, abs=1e-12)
    assert (CURVES.passive_energy(x) > 0.0) == (x > 1.0)
