"""Sparse elimination by blocks against dense matrices, and its order."""

from __future__ import annotations

import numpy as np
import pytest
from rigid import factored, pile, stack

from multibody_cli.contact_solver.friction import block_matrix
from multibody_cli.contact_solver.friction.block_matrix import BlockMatrix
from multibody_cli.contact_solver.friction.elimination_order import Elimination, order_blocks
from multibody_cli.contact_solver.friction.problem import Factored
from multibody_cli.kernel import allocate


def wide(world, seed):
    """The problem of a world in which each two bodies are one block of twelve velocities."""
    F = factored(world, np.zeros(len(world.mass)), 0.5)
    bodies = len(F.width)
    B = np.zeros((len(F.r), 2, 12))
    block = np.full_like(F.block, -1)
    for k in range(len(F.r)):
        pairs = sorted({int(b) // 2 for b in F.block[k] if b >= 0})
        for side, pair in enumerate(pairs):
            block[k, side] = pair
            for at, b in zip(F.first[k], F.block[k], strict=True):
                if b >= 0 and b // 2 == pair:
                    B[k, side, 6 * (b % 2) : 6 * (b % 2) + 6] = F.B[at : at + 6]
    first = 12 * np.arange(2 * len(F.r)).reshape(-1, 2)
    width = np.full((bodies + 1) // 2, 12)
    return Factored(B.ravel(), first, block, np.zeros_like(width), width, np.zeros(12 * len(width)), *F[6:])


def dense(F, D, stiffness):
    """The matrix 1 + B^T D B in the order of xi."""
    n = int(F.width.sum())
    matrix, first = np.eye(n), F.constraint_rows
    groups = [[k] for k in range(first)] + [[k, k + 1, k + 2] for k in range(first, len(F.r), 3)]
    for rows in groups:
        J = np.zeros((len(rows), n))
        for j, k in enumerate(rows):
            for at, b in zip(F.first[k], F.block[k], strict=True):
                if b >= 0:
                    J[j, F.start[b] : F.start[b] + F.width[b]] += F.B[at : at + F.width[b]]
        matrix += stiffness * J.T @ D[rows, : len(rows)] @ J
    return matrix


def problems():
    rng = np.random.default_rng(3)
    for bodies, contacts in ((1, 1), (2, 3), (9, 12), (20, 60), (40, 50)):
        world = pile(rng, bodies, contacts)
        world.equalities = [rng.normal(size=(1, len(world.mass))) * (np.arange(len(world.mass)) // 6 == 0)]
        yield factored(world, np.zeros(len(world.mass)), 0.5)
        if bodies > 1:
            world.equalities = []
            yield wide(world, bodies)


@pytest.mark.parametrize("F", list(problems()))
def test_it_solves_the_system_of_the_dense_matrix(F):
    rng = np.random.default_rng(len(F.r))
    bodies = int(F.width.sum()) // 6
    M = allocate(BlockMatrix, nodes=bodies, blocks=len(F.width), contacts=len(F.mu))
    for array in (M.diagonal, M.lower, M.upper, M.rows, M.product):
        array.fill(np.nan)
    n = order_blocks(F, M.elimination)
    D = np.tile(np.eye(3), (len(F.r) // 3 + 1, 1))[: len(F.r)] + 0.2 * rng.normal(size=(len(F.r), 3))
    D[: F.equalities] = 1.0
    block_matrix.clear(n, M)
    for k in range(F.equalities):
        block_matrix.add_rows(F, k, 1, D, 30.0, M)
    for k in range(F.equalities, len(F.r), 3):
        block_matrix.add_rows(F, k, 3, D, 30.0, M)
    block_matrix.eliminate(n, M)
    y = rng.normal(size=n)
    x = y.copy()
    block_matrix.substitute(n, M, x)
    reference = np.linalg.solve(dense(F, D, 30.0), y)
    np.testing.assert_allclose(x, reference, atol=1e-11 * np.abs(reference).max())


def test_a_stack_has_no_fill():
    F = factored(stack(30), np.zeros(180), 0.5)
    E = allocate(Elimination, nodes=30, blocks=30, contacts=120)
    order_blocks(F, E)
    assert E.begin[30] == 29


def test_the_order_is_a_permutation_whatever_touches():
    F = factored(pile(np.random.default_rng(1), 30, 70), np.zeros(180), 0.5)
    E = allocate(Elimination, nodes=30, blocks=30, contacts=70)
    assert order_blocks(F, E) == 180
    assert sorted(E.order) == list(range(30))
    assert sorted(F.start) == list(range(0, 180, 6))
