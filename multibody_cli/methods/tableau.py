"""Butcher tableaux of explicit Runge-Kutta methods.

A step of h for y' = f(t, y) has the stages and the end

    k_i = f(t + c_i h, y + h sum_(j<i) A_ij k_j),        y' = y + h sum_i b_i k_i.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd ed., II.1, II.4 and II.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats


class Tableau(NamedTuple):
    """A method of s stages."""

    A: Floats  # (s, s) weights of earlier stages, strictly lower triangular
    b: Floats  # (s,) weights of the step
    c: Floats  # (s,) instants of the stages, in steps


class EmbeddedPair(NamedTuple):
    """A method of s stages with estimates of its error, and a dense output that may need further stages, n > s in all.

    Stage s is at the end of the step, where it is the first stage of the next one.
    """

    A: Floats  # (n, n) weights of earlier stages, of all stages
    b: Floats  # (s,) weights of the step
    c: Floats  # (n,) instants of the stages, in steps
    E: Floats  # (2, s) weights of the error estimate, and of one of a lower order; zero without one
    D: Floats  # (m, n) weights of the terms of the interpolant after the cubic one
    error_order: int  # order of the error estimate


def tableau(rows: Sequence[Sequence[float]], b: Sequence[float]) -> Tableau:
    """Return a tableau.

    Parameters
    ----------
    rows
        The first i entries of each row i of A, from i = 1 on.
    b
        Weights of the step.
    """
    A = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows, start=1):
        A[i, :i] = row
    return Tableau(A, np.array(b), A.sum(axis=1))


def embedded_pair(method: Tableau, embedded: Sequence[float], error_order: int) -> EmbeddedPair:
    """Return a pair whose dense output is the cubic with the values and slopes of both ends.

    Parameters
    ----------
    method
        The method whose steps are taken.
    embedded
        Weights (s,) of the embedded method, whose difference from the step estimates the error.
    error_order
        Order of the embedded method.
    """
    n = len(method.b) + 1
    A = np.zeros((n, n))
    A[:-1, :-1], A[-1, :-1] = method.A, method.b
    E = np.stack([method.b - np.array(embedded), np.zeros(n - 1)])
    return EmbeddedPair(A, method.b, np.append(method.c, 1.0), E, np.zeros((0, n)), error_order)
