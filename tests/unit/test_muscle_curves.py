"""The curves of muscles: published numbers, smoothness at the knots, slopes and integrals of themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BPoly
from scipy.optimize import brentq
from wrapped_formulas import Formulas

from multibody_cli.forces import muscle_curves
from multibody_cli.forces.muscle_curves import CurvePacker
from multibody_cli.forces.muscle_models import MUSCLE_MODELS
from multibody_cli.forces.muscle_models.cubic import (
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


class Packed:
    """The curves of a model in the arrays of kernels."""

    def __init__(self, model: str, **given: Any) -> None:
        self.of, packer = MUSCLE_MODELS[model].model_validate({"type": model, **given}).curves, CurvePacker()
        words = ("active", "velocity", "passive", "tendon")
        self._numbers = {word: packer.add(one) for word in words if (one := getattr(self.of, word)) is not None}
        self._arrays = packer.pack()

    def at(self, curve: str, x: float) -> tuple[float, float]:
        value, slope = CURVES.curve_at(self._arrays, self._numbers[curve], float(x))
        return value, slope

    def values(self, curve: str, x: np.ndarray) -> np.ndarray:
        return np.array([self.at(curve, one)[0] for one in x])

    def integral(self, curve: str, x: float) -> float:
        return float(CURVES.curve_integral(self._arrays, self._numbers[curve], float(x)))


CUBIC = Packed("cubic")


def value_and_slope(curve: str, x: float) -> tuple[float, float]:
    return CUBIC.at(curve, x)


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


# --- consistency of a curve -----------------------------------------------------------------------------------------
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
    assert CUBIC.integral("passive", x) == pytest.approx(wanted, rel=0, abs=1e-12)
    assert (CUBIC.integral("passive", x) > 0.0) == (x > 1.0)


# --- models -----------------------------------------------------------------------------------------------------------
MODELS = {name: Packed(name) for name in MUSCLE_MODELS}
EACH = [(model, curve) for model in MODELS for curve in ("active", "velocity", "passive", "tendon")]
EACH.remove(("cubic", "tendon"))
SPANS = {"active": (0.3, 1.9), "velocity": (-1.3, 1.3), "passive": (0.7, 1.7), "tendon": (0.98, 1.06)}

each_curve = pytest.mark.parametrize(("model", "curve"), EACH)


@each_curve
def test_slopes_are_derivatives_of_values(model: str, curve: str) -> None:
    h = 1e-4 if curve != "tendon" else 1e-6
    knots = np.array(getattr(MODELS[model].of, curve).knots)
    for x in np.linspace(*SPANS[curve], 57):
        if np.abs(knots - x).min() < 2 * h:
            continue
        a, b, c, d = (MODELS[model].at(curve, x + k * h)[0] for k in (-2, -1, 1, 2))
        slope = MODELS[model].at(curve, x)[1]
        assert slope == pytest.approx((a - 8 * b + 8 * c - d) / (12 * h), rel=2e-6, abs=2e-5)


@each_curve
def test_integrals_are_those_of_the_values(model: str, curve: str) -> None:
    low, high = SPANS[curve]
    for x, y in pairwise(np.linspace(low, high, 9)):
        wanted, _ = quad(lambda s: MODELS[model].at(curve, s)[0], x, y, epsabs=1e-12, epsrel=1e-12, limit=200)
        found = MODELS[model].integral(curve, y) - MODELS[model].integral(curve, x)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-11)
    assert MODELS[model].integral(curve, 1.0) == pytest.approx(0.0, rel=0, abs=1e-14)


@each_curve
def test_slopes_do_not_jump(model: str, curve: str) -> None:
    """Apart from Thelen's, which begin with a slope, and where lengthening doubles that of the velocity."""
    low, high = SPANS[curve]
    size = max(abs(MODELS[model].at(curve, x)[1]) for x in np.linspace(low, high, 101))
    for knot in getattr(MODELS[model].of, curve).knots:
        below, above = (MODELS[model].at(curve, np.nextafter(knot, side)) for side in (-9.0, 9.0))
        assert below[0] == pytest.approx(above[0], rel=0, abs=1e-11)
        begins = model == "thelen2003" and knot == {"passive": 1.0, "tendon": 1.0, "velocity": 0.0}.get(curve)
        if low < knot < high and not begins:
            assert below[1] == pytest.approx(above[1], rel=0, abs=1e-6 * size)


WRITTEN: dict[tuple[str, str], Callable[[float], float]] = {
    ("thelen2003", "active"): lambda x: math.exp(-((x - 1) ** 2) / 0.45),
    ("thelen2003", "passive"): lambda x: max(math.expm1(5 * (x - 1) / 0.6) / math.expm1(5), 0.0),
    ("thelen2003", "velocity"): lambda x: _thelen_velocity(x),
    ("thelen2003", "tendon"): lambda x: _thelen_tendon(x - 1),
    ("degroote2016", "velocity"): lambda x: -0.3211346127989808 * math.asinh(-8.149 * x - 0.374) + 0.8825327733249912,
    ("degroote2016", "tendon"): lambda x: 0.2 * math.exp(math.log(6.0) / 0.049 * (x - 1)) - 0.2,
    ("millard2012", "active"): lambda x: _bezier(MILLARD_ACTIVE, x),
    ("millard2012", "velocity"): lambda x: _bezier(MILLARD_VELOCITY, x),
}


def _thelen_velocity(x: float) -> float:
    """The force by the velocity, solved from the velocity by the force, (6) and (7)."""

    def rate(f: float) -> float:
        if f > 0.95 * 1.4:
            return rate(0.95 * 1.4) + (f - 0.95 * 1.4) * (0.4 * 10 * 0.4 / (10 * 0.07) ** 2)
        if f < 0.0:
            return -1.0 + f * 5.0
        return (f - 1) / (1 + f / 0.25) if f <= 1 else (f - 1) * 0.4 / ((2 + 2 / 0.25) * (1.4 - f))

    return float(brentq(lambda f: rate(f) - x, -2.0, 3.0, xtol=1e-14))


def _thelen_tendon(strain: float) -> float:
    toe = 99 * 0.04 * math.exp(3) / (166 * math.exp(3) - 67)
    if strain > toe:
        return 0.33 + 0.67 / (0.04 - toe) * (strain - toe)
    return max(0.33 * math.expm1(3 * strain / toe) / math.expm1(3), 0.0)


def _corner(x0: float, y0: float, d0: float, x1: float, y1: float, d1: float, curviness: float) -> np.ndarray:
    """Control points between two points with given slopes."""
    c = 0.1 + 0.8 * curviness
    x = (y1 - y0 - d1 * x1 + d0 * x0) / (d0 - d1)
    corner = np.array([x, y0 + d0 * (x - x0)])
    start, end = np.array([x0, y0]), np.array([x1, y1])
    one, other = start + c * (corner - start), end + c * (corner - end)
    return np.array([start, one, one, other, other, end])


MILLARD_VELOCITY = [
    _corner(-1, 0, 0, -0.9, 0.0125, 0.25, 0.6),
    _corner(-0.9, 0.0125, 0.25, 0, 1, 5, 0.6),
    _corner(0, 1, 5, 0.9, 1.3925, 0.15, 0.9),
    _corner(0.9, 1.3925, 0.15, 1, 1.4, 0, 0.9),
]
_Y = 1 - 0.8616 * (0.95 - 0.73)
_STEEP = (0.58705, _Y / 2, 1.25 * _Y / (0.73 - 0.4441))
_SHALLOW = (0.84, (1 + _Y) / 2, 0.8616)
_FALL = (1.05 + (1.8123 - 1.05) / 2, 0.5, -1 / (1.8123 - 0.05 - 1.05))
MILLARD_ACTIVE = [
    _corner(0.4441, 0, 0, *_STEEP, 1),
    _corner(*_STEEP, *_SHALLOW, 1),
    _corner(*_SHALLOW, 1, 1, 0, 1),
    _corner(1, 1, 0, *_FALL, 1),
    _corner(*_FALL, 1.8123, 0, 0, 1),
]


def _bezier(curves: list[np.ndarray], x: float) -> float:
    for control in curves:
        if control[0, 0] <= x <= control[-1, 0]:
            across, up = (BPoly(column[:, None], [0.0, 1.0]) for column in control.T)
            return float(up(brentq(lambda u, at=across: float(at(u)) - x, 0.0, 1.0, xtol=1e-15)))
    return float(curves[0][0, 1] if x < curves[0][0, 0] else curves[-1][-1, 1])


@pytest.mark.parametrize(("model", "curve"), WRITTEN)
def test_curves_are_the_published_functions(model: str, curve: str) -> None:
    x = np.linspace(*SPANS[curve], 301)
    wanted = [WRITTEN[model, curve](float(one)) for one in x]
    np.testing.assert_allclose(MODELS[model].values(curve, x), wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "cubic"])
def test_tendons_have_their_strain_at_a_force_of_one(model: str) -> None:
    for strain in (0.03, 0.1):
        assert Packed(model, tendon_strain=strain).at("tendon", 1.0 + strain)[0] == pytest.approx(1.0, rel=0, abs=1e-9)


def test_curves_of_your_own_replace_those_of_a_model() -> None:
    given = {"active": "cos(x - 1)", "passive": {"x": [0.5, 1, 1.5], "y": [0, 0, 1], "interpolation": "pchip"}}
    own, x = Packed("millard2012", **given), np.linspace(0.1, 2.4, 61)
    np.testing.assert_allclose(own.values("active", x), np.cos(x - 1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(own.values("passive", np.array([0.2, 1.0, 1.5])), [0, 0, 1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(own.values("velocity", x), MODELS["millard2012"].values("velocity", x))
