"""Rotations, trigonometry and small factors: plain formulas, compiled or not."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from wrapped_formulas import Formulas, called

from multibody_cli.spatial import factor as factoring
from multibody_cli.spatial import rotations as rotating
from multibody_cli.spatial.values import Mat3, Sym3, Vec3
from multibody_cli.symbolic.trigonometry import sine_and_cosine as formula_of_both

factor, rotations = Formulas(factoring), Formulas(rotating)
sine_and_cosine = called(formula_of_both)

VECTORS = [
    np.multiply(angle, axis)
    for angle in (0.0, 1e-9, 0.9e-6, 1.1e-6, 1e-3, 0.0099, 0.0101, 0.0999, 0.1001, 1.0, 3.0, 3.14, 4.0, 6.0)
    for axis in ((1.0, 0.0, 0.0), (2 / 3, -1 / 3, 2 / 3))
]
U = np.array([0.3, -1.2, 0.8])


def matrix(R):
    return np.array([list(R.x), list(R.y), list(R.z)]).T


def vector(a):
    return Vec3(*map(float, a))


def hat(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def right_jacobian(p):
    """sum (-[p])^k / (k+1)!, in fifty digits."""
    with mpmath.workdps(50):
        A, term, total = mpmath.matrix((-hat(p)).tolist()), mpmath.eye(3), mpmath.eye(3)
        for k in range(1, 80):
            term = term * A / (k + 1)
            total += term
        return np.array(total.tolist(), dtype=float)


def ulps(found, wanted):
    return abs((mpmath.mpf(found) - wanted) / mpmath.mpf(math.ulp(float(wanted))))


ANGLES = np.concatenate(
    [
        np.linspace(-7, 7, 301),
        np.arange(-40, 41) * (math.pi / 4),
        np.random.default_rng(0).uniform(-1e5, 1e5, 300),
        [0.0, 1e-300, 1e-9, 99999.9, 1e5, 100000.1, 1e7, 1e15, -1e22],
    ]
)


def test_sine_and_cosine_are_within_two_units_in_the_last_place():
    with mpmath.workdps(60):
        for x in ANGLES:
            s, c = sine_and_cosine(float(x))
            # next to a zero of the function, half a unit of the reduced argument's own last place comes on top
            for found, wanted in (
                (s, mpmath.sin(mpmath.mpf(float(x)))),
                (c, mpmath.cos(mpmath.mpf(float(x)))),
            ):
                assert ulps(found, wanted) <= 2 or abs(mpmath.mpf(found) - wanted) < 1e-22 * max(1.0, abs(x))


def test_sine_and_cosine_lie_on_the_unit_circle():
    for x in ANGLES:
        s, c = sine_and_cosine(float(x))
        assert s * s + c * c == pytest.approx(1.0, abs=4e-16)


@pytest.mark.parametrize("p", VECTORS, ids=str)
def test_rotation_vectors_survive_the_round_trip(p):
    w, u = rotations.quaternion_of_vector(vector(p))
    expected = Rotation.from_rotvec(p).as_quat()
    sign = 1.0 if expected[3] * w >= 0 else -1.0
    np.testing.assert_allclose([*u, w], sign * expected, rtol=1e-14, atol=5e-16)
    np.testing.assert_allclose(
        matrix(rotations.rotation_of_quaternion(w, *u)), Rotation.from_rotvec(p).as_matrix(), atol=1e-15
    )
    back = rotations.vector_of_quaternion(w, u)
    np.testing.assert_allclose(back, Rotation.from_rotvec(p).as_rotvec(), rtol=1e-13, atol=1e-15)
    negative = rotations.vector_of_quaternion(-w, vector(-np.array(u)))
    np.testing.assert_allclose(negative, back, rtol=1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_a_rotation_matrix_is_converted_to_its_quaternion(seed):
    rng = np.random.default_rng(seed)
    axis = np.eye(3)[seed % 3] + 1e-3 * rng.normal(size=3)  # each of the four branches
    R = Rotation.from_rotvec(
        (math.pi - 0.01 * (seed % 7)) * axis / np.linalg.norm(axis) if seed % 4 else rng.normal(size=3)
    )
    w, *u = rotations.quaternion_of_rotation(Mat3(*(vector(column) for column in R.as_matrix().T)))
    assert math.hypot(w, *u) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(matrix(rotations.rotation_of_quaternion(w, *u)), R.as_matrix(), atol=1e-15)


def test_products_of_quaternions_are_products_of_rotations():
    rng = np.random.default_rng(1)
    (aw, *a), (bw, *b) = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 4)))
    w, u = rotations.quaternion_product(aw, vector(a), bw, vector(b))
    A, B, C = (
        matrix(rotations.rotation_of_quaternion(float(x), *map(float, y))) for x, y in ((aw, a), (bw, b), (w, u))
    )
    np.testing.assert_allclose(C, A @ B, atol=1e-15)


def test_the_angle_of_a_unit_vector_in_every_quadrant():
    angles = np.concatenate([np.linspace(-math.pi, math.pi, 1001)[1:], [1e-9, -1e-12, 0.25 * math.pi, -0.75 * math.pi]])
    found = [rotations.angle_of(math.sin(angle), math.cos(angle)) for angle in angles]
    np.testing.assert_allclose(found, angles, rtol=4e-16, atol=1e-16)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (2 / 3, -1 / 3, 2 / 3)])
@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0, 3.1])
def test_rotation_about_an_axis(axis, angle):
    R = rotations.rotation_about(vector(axis), math.sin(angle), math.cos(angle))
    np.testing.assert_allclose(matrix(R), Rotation.from_rotvec(np.multiply(angle, axis)).as_matrix(), atol=1e-15)


# --- exponential coordinates -------------------------------------------------------------------------------
@pytest.mark.parametrize("p", VECTORS, ids=str)
def test_the_right_jacobian_on_both_sides_of_its_series(p):
    found = np.array(rotations.right_jacobian_times(vector(p), vector(U)))
    np.testing.assert_allclose(found, right_jacobian(p) @ U, rtol=0, atol=1e-14)


@pytest.mark.parametrize("p", VECTORS, ids=str)
def test_the_inverse_right_jacobian_on_both_sides_of_its_series(p):
    w = right_jacobian(p) @ U
    found = rotations.inverse_right_jacobian_times(vector(p), vector(w))
    np.testing.assert_allclose(found, U, rtol=0, atol=2e-14 if np.linalg.norm(p) < 3.5 else 1e-12)


@pytest.mark.parametrize("p", VECTORS, ids=str)
def test_the_rate_of_the_right_jacobian(p):
    """Along p + u t, by a central difference of the fifty-digit series."""
    found = np.array(rotations.right_jacobian_rate_times(vector(p), vector(U)))
    h = 1e-4
    slopes = [(right_jacobian(p + s * U) - right_jacobian(p - s * U)) @ U / (2 * s) for s in (h, 2 * h)]
    np.testing.assert_allclose(found, (4 * slopes[0] - slopes[1]) / 3, rtol=0, atol=3e-11)


@pytest.mark.parametrize("angle2", [1e-12, 1e-6, 9.99e-3, 1.001e-2, 0.5, 9.0])
def test_exponential_coefficients_against_fifty_digits(angle2):
    found = rotations.exponential_coefficients(angle2)
    with mpmath.workdps(50):
        t = mpmath.sqrt(mpmath.mpf(angle2))
        b, c = (1 - mpmath.cos(t)) / t**2, (t - mpmath.sin(t)) / t**3
        exact = b, c, (mpmath.sin(t) / t - 2 * b) / t**2, (b - 3 * c) / t**2
    # the derivatives enter times t^2: that much may be lost to cancellation beyond the switch
    for k, wanted in enumerate(exact):
        assert found[k] == pytest.approx(float(wanted), rel=1e-12 if k < 2 else 2e-9)


# --- L D L^T -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_factor_and_solve(seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(3, 3))
    A, b, c = B @ B.T + 0.1 * np.eye(3), rng.normal(size=3), rng.normal(size=3)
    F = factor.factor(Sym3(*(float(x) for x in A[np.triu_indices(3)])))
    np.testing.assert_allclose(factor.solve(F, vector(b)), np.linalg.solve(A, b), rtol=1e-12)
    y, z = factor.solve_lower(F, vector(b)), factor.solve_lower(F, vector(c))
    assert sum(map(math.prod, zip(y, F.dinv, z, strict=True))) == pytest.approx(b @ np.linalg.solve(A, c), rel=1e-11)


SQUARES = (0.0, 1e-12, 1e-6, 9.9e-3, 1.01e-2, 0.3, 4.0, 9.0)


def slope_of(function, x):
    """Derivative of a function of mpmath, exact to double precision."""
    with mpmath.workdps(60):
        return float(mpmath.diff(function, mpmath.mpf(x) if x else mpmath.mpf("1e-15")))


@pytest.mark.parametrize("z", SQUARES)
def test_slopes_of_coefficients_of_rotations(z):
    def half(z):
        return mpmath.sin(mpmath.sqrt(z)) / (2 * mpmath.sqrt(z))

    def inverse(z):
        t = mpmath.sqrt(z)
        return (1 - t / 2 * mpmath.cot(t / 2)) / z

    assert rotations.half_angle_slope(z) == pytest.approx(slope_of(half, z), rel=1e-11)
    assert rotations.inverse_jacobian_slope(z) == pytest.approx(slope_of(inverse, z), rel=1e-11)


@pytest.mark.parametrize("w", [1.0, 0.4, -0.7])
@pytest.mark.parametrize("square", [0.0, 1e-12, 1e-6, 1e-4, 2e-3, 3e-3, 0.3, 0.9])
def test_slope_of_the_coefficient_of_the_logarithm(w, square):
    def coefficient(z):
        return 2 * mpmath.atan(mpmath.sqrt(z) / w) / mpmath.sqrt(z)

    assert rotations.logarithm_slope(w, square) == pytest.approx(slope_of(coefficient, square), rel=1e-11)
