"""Spatial values and their products against 3 x 3 and 6 x 6 matrices, compiled and as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from wrapped_formulas import Formulas

from multibody_cli.kernel import kernel
from multibody_cli.spatial import lu, products
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3

HERE = Path(__file__)
P = Formulas(products)


@kernel
def times(a, b):
    return a @ b


@kernel
def scaled_by(s, a):
    return s * a


@kernel
def sum_of(a, b):
    return a + b


@kernel
def difference_of(a, b):
    return a - b


@kernel
def negative_of(a):
    return -a


UPPER = np.triu_indices(3)


def vec(a):
    return Vec3(*map(float, a))


def mat(A):
    return Mat3(*(vec(column) for column in np.asarray(A).T))


def sym(A):
    return Sym3(*map(float, np.asarray(A)[UPPER]))


def array(value):
    """The numpy array of a value."""
    if isinstance(value, Vec3):
        return np.array(value)
    if isinstance(value, Mat3):
        return np.array([list(column) for column in value]).T
    if isinstance(value, Sym3):
        A = np.zeros((3, 3))
        A[UPPER] = value
        return A + A.T - np.diag(np.diag(A))
    if isinstance(value, Motion | Force):
        return np.concatenate([array(part) for part in value])
    J, H, M = map(array, value)
    return np.block([[J, H], [H.T, M]])


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


@pytest.fixture
def numbers():
    rng = np.random.default_rng(7)
    S = rng.normal(size=(4, 3, 3))
    return {
        "a": rng.normal(size=3),
        "b": rng.normal(size=3),
        "A": rng.normal(size=(3, 3)),
        "B": rng.normal(size=(3, 3)),
        "S": S[0] + S[0].T,
        "T": S[1] + S[1].T,
        "R": np.linalg.qr(rng.normal(size=(3, 3)))[0],
        "m": rng.normal(size=6),
        "f": rng.normal(size=6),
    }


def motion(m):
    return Motion(vec(m[:3]), vec(m[3:]))


def force(f):
    return Force(vec(f[:3]), vec(f[3:]))


def test_vectors_and_matrices(numbers):
    a, b, A, B, S, R = (numbers[name] for name in "abABSR")
    same = np.testing.assert_allclose
    same(P.dot(vec(a), vec(b)), a @ b)
    same(array(P.cross(vec(a), vec(b))), np.cross(a, b))
    same(array(P.scaled(vec(a), vec(b))), a * b)
    same(array(times(mat(A), vec(b))), A @ b)
    same(array(times(mat(A), mat(B))), A @ B)
    same(array(times(sym(S), vec(b))), S @ b)
    same(array(P.transposed_times(mat(A), vec(b))), A.T @ b)
    same(array(P.outer(vec(a), vec(b))), np.outer(a, b))
    same(array(P.skew(vec(a))), skew(a))
    same(array(P.times_skew(mat(A), vec(b))), A @ skew(b))
    same(array(P.skew_times(vec(a), sym(S))), skew(a) @ S)
    same(array(P.symmetric_outer(vec(a), vec(2 * a))), 2 * np.outer(a, a))
    same(array(P.symmetric_sum(mat(A), mat(S - A.T))), S, atol=1e-15)
    C = np.linalg.solve(A.T, S)  # A^T C is symmetric
    same(array(P.symmetric_product(mat(A), mat(C))), S, atol=1e-13)
    same(array(P.rotated_diagonal(mat(R), vec(a))), R @ np.diag(a) @ R.T, atol=1e-15)
    same(array(P.rotated(mat(R), sym(S))), R @ S @ R.T, atol=1e-14)
    same(array(P.steiner(sym(S), 2.0, vec(b))), S + 2.0 * (b @ b * np.eye(3) - np.outer(b, b)))
    same(array(P.isotropic(3.0)), 3.0 * np.eye(3))


def test_arithmetic_applies_to_nested_values(numbers):
    S, T, A, m, f = (numbers[name] for name in "STAmf")
    I1, I2 = Inertia(sym(S), mat(A), sym(T)), Inertia(sym(T), mat(-A), sym(S))
    np.testing.assert_allclose(array(sum_of(I1, I2)), array(I1) + array(I2))
    np.testing.assert_allclose(array(difference_of(I1, I2)), array(I1) - array(I2))
    np.testing.assert_allclose(array(negative_of(I1)), -array(I1))
    np.testing.assert_allclose(array(scaled_by(2.5, I1)), 2.5 * array(I1))
    np.testing.assert_allclose(array(times(I1, motion(m))), array(I1) @ m)
    assert P.power(motion(m), force(f)) == pytest.approx(m @ f)
    p, q = force(f), force(3.0 * f)
    np.testing.assert_allclose(array(P.rank_one(p, q)), 3.0 * np.outer(f, f))
    assert not array(P.no_inertia()).any()
    assert not array(P.no_force()).any()


def test_shifts_are_congruences(numbers):
    """X moves a motion to the point r away; a wrench moves by X^T and an inertia by X^T A X."""
    r, m, f, S, T, A = numbers["a"], numbers["m"], numbers["f"], numbers["S"], numbers["T"], numbers["A"]
    X = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(r), np.eye(3)]])
    I = Inertia(sym(S), mat(A), sym(T))  # noqa: E741
    np.testing.assert_allclose(array(P.shift_motion(motion(m), vec(r))), X @ m)
    np.testing.assert_allclose(array(P.shift_force(force(f), vec(r))), X.T @ f)
    np.testing.assert_allclose(array(P.shift_inertia(I, vec(r))), X.T @ array(I) @ X, atol=1e-14)


@pytest.mark.parametrize("kind", ["Vec3", "Sym3", "Mat3"])
def test_records_return_the_stored_values(kind, numbers):
    value = {"Vec3": vec(numbers["a"]), "Sym3": sym(numbers["S"]), "Mat3": mat(numbers["A"])}[kind]
    count = {"Vec3": 3, "Sym3": 6, "Mat3": 9}[kind]
    field = np.full(count, np.nan)
    store(field, value)
    assert load(field) == value
    expected = {"Vec3": numbers["a"], "Sym3": numbers["S"][UPPER], "Mat3": numbers["A"].T.ravel()}[kind]
    np.testing.assert_array_equal(field, expected)


@kernel
def compute(fields, out):
    """All operations of the values in one kernel."""
    a, b, A, S, R = load(fields.a), load(fields.b), load(fields.A), load(fields.S), load(fields.R)
    inertia = Inertia(products.rotated(R, S), A, S) + products.rank_one(Force(a, b), Force(a, b))
    s, p = Motion(a, b), Force(b, a)
    moved = products.shift_inertia(inertia - 0.5 * Inertia(S, -A, S), b)
    result = moved @ products.shift_motion(s, a) + products.shift_force(2.0 * p, b)
    store(out[0:3], result.t)
    store(out[3:6], result.f)
    store(out[6:15], A @ products.times_skew(R, a))
    store(out[15:21], products.steiner(S, 2.0, a))
    store(out[21:24], products.transposed_times(A, products.cross(a, -b)))


def test_compiled_and_plain_values_agree(numbers):
    fields = np.zeros(1, [("a", "f8", 3), ("b", "f8", 3), ("A", "f8", 9), ("S", "f8", 6), ("R", "f8", 9)]).view(
        np.recarray
    )
    a, b, A, S, R = (numbers[name] for name in "abASR")
    fields[0].a[:], fields[0].b[:], fields[0].S[:] = a, b, S[UPPER]
    fields[0].A[:], fields[0].R[:] = A.T.ravel(), R.T.ravel()
    out = np.zeros(24)
    compute(fields[0], out)
    X = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(b), np.eye(3)]])
    Y = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(a), np.eye(3)]])
    ab = np.concatenate([a, b])
    inertia = np.block([[R @ S @ R.T, A], [A.T, S]]) + np.outer(ab, ab) - 0.5 * np.block([[S, -A], [-A.T, S]])
    np.testing.assert_allclose(out[:6], X.T @ inertia @ X @ Y @ ab + X.T @ (2 * np.concatenate([b, a])), rtol=1e-13)
    np.testing.assert_allclose(out[6:15].reshape(3, 3).T, A @ R @ skew(a), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(out[15:21], (S + 2 * (a @ a * np.eye(3) - np.outer(a, a)))[UPPER], rtol=1e-13)
    np.testing.assert_allclose(out[21:], A.T @ np.cross(a, -b), rtol=1e-13)


def test_kernels_run_as_plain_python():
    """Formulas, a whole forward dynamics and a few steps, as plain Python."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    physics = HERE.parent.parent / "physics" / "test_forward_dynamics.py"
    chosen = [
        HERE,
        HERE.parent / "test_rotations.py",
        *(
            f"{physics}::test_{name}"
            for name in (
                "a_prescribed_slider_supports_its_load",
                "an_evaluation_does_not_depend_on_the_previous_one",
                "dynamics_does_not_depend_on_the_distance_from_the_origin",
            )
        ),
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-k",
        f"not {test_kernels_run_as_plain_python.__name__}",  # or it would start itself for ever
        *map(str, chosen),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE.parents[2], check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_the_inverse_of_a_matrix_that_is_stiff_in_one_direction():
    """Cofactors of these matrices have no correct digit."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, skew = rng.normal(size=3), 1e-3 * rng.normal(size=(3, 3))
        A = np.diag([1e-4, 1e-2, 1.0]) @ (np.eye(3) + skew) + 1e6 * np.outer(n, n)
        rows = Formulas(lu).inverse(Mat3(*(Vec3(*column) for column in A.T)))
        inverse = np.array([[r.x, r.y, r.z] for r in (rows.x, rows.y, rows.z)])
        np.testing.assert_allclose(inverse @ A, np.eye(3), atol=1e-6)
