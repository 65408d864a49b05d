"""Vector instructions on rows of six numbers against numpy, compiled and as plain Python."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from multibody_cli.contact_solver.friction import six_columns
from multibody_cli.kernel import kernel
from multibody_cli.kernel.mode import interpreted


@kernel
def apply_products(D, A, B, X, C, factor):
    """Results one after the other in C, each from the place that is a multiple of 36."""
    six_columns.multiply_strip(D, 1, A, 2, C, 0, factor)
    six_columns.add_transposed_product(A, 2, B, 4, C, 36)
    six_columns.add_outer_product(A, 2, B, 4, C, 72)
    six_columns.subtract_transposed_product(A, 2, B, 4, C, 108)
    six_columns.subtract_transposed_vector_product(A, 2, X, 1, C, 144)
    six_columns.multiply_row(A, 2, C, 180, factor)
    six_columns.copy_row(A, 2, C, 216)
    six_columns.add_power(X, 1, A, 2, C, 252, 8)
    six_columns.add_row(A, 2, C, 288, factor)


@kernel
def apply_solutions(F, C):
    """Solutions with the factors F, in place."""
    six_columns.solve_lower(F, 3, C, 0)
    six_columns.solve_transposed_upper(F, 3, C, 36)
    six_columns.solve_row(F, 3, C, 72)


@pytest.fixture(params=["compiled", "interpreted"])
def mode(request):
    return interpreted() if request.param == "interpreted" else contextlib.nullcontext()


def test_products(mode):
    rng = np.random.default_rng(1)
    D, A, B, X, C = (rng.normal(size=n) for n in ((5, 3), 60, 60, 9, 300))
    before, factor = C.copy(), 1.7
    with mode:
        apply_products(D, A, B, X, C, factor)
    a, b, x = A[2:38].reshape(6, 6), B[4:40].reshape(6, 6), X[1:7]
    expected = before.copy()
    expected[:18] = factor * (D[1:4] @ a[:3]).ravel()
    expected[36:72] += (a[:3].T @ b[:3]).ravel()
    expected[72:108] += np.outer(a[0], b[0]).ravel()
    expected[108:144] -= (a.T @ b).ravel()
    expected[144:150] -= a.T @ x
    expected[180:186] = factor * a[0]
    expected[216:222] = a[0]
    expected[288:294] += factor * a[0]
    expected[252:258] += x @ np.array([A[2 + 8 * k : 8 + 8 * k] for k in range(6)])
    np.testing.assert_allclose(C, expected, rtol=1e-13, atol=1e-13)


def test_triangular_solutions(mode):
    rng = np.random.default_rng(2)
    F, C = rng.normal(size=40), rng.normal(size=80)
    F[3:39:7] += 4.0
    before = C.copy()
    with mode:
        apply_solutions(F, C)
    factors = F[3:39].reshape(6, 6)
    lower, upper = np.tril(factors, -1) + np.eye(6), np.triu(factors)
    inverse_pivots = np.triu(factors, 1) + np.diag(1 / np.diag(factors))  # the diagonal holds them inverted
    expected = before.copy()
    expected[:36] = np.linalg.solve(lower, before[:36].reshape(6, 6)).ravel()
    expected[36:72] = np.linalg.solve(inverse_pivots.T, before[36:72].reshape(6, 6)).ravel()
    expected[72:78] = np.linalg.solve(upper.T, before[72:78])
    np.testing.assert_allclose(C, expected, rtol=1e-12, atol=1e-12)
