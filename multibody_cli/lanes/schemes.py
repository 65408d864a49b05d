"""Time steps of integrators as generated source, around one evaluation of the accelerations.

    for each step
        for each stage
            `stage`     q and v of the stage, except the first one
            the accelerations a at (q, v)
            `start`     in the first stage: keeps q and v
            `slope`     weighted sum of the slopes
        `step`          q and v at the end

The kernels of `tree.configuration` and `linalg.vectors` write the statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from multibody_cli.lanes.tracing import Tracer
from multibody_cli.linalg.vectors import add_scaled, clear, copy
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.tableau import Tableau
from multibody_cli.model import Tree
from multibody_cli.symbolic.scalar import name
from multibody_cli.tree.configuration import displace, displacement_rate, normalize, turn_with_bodies


class Sizes(NamedTuple):
    """Lengths of q and v, and number of accounts of the energy ledger."""

    nq: int
    nv: int
    accounts: int


Writer = Callable[[Tree, Sizes], list[str]]


class Scheme(NamedTuple):
    """Time steps of an integrator.

    Parameters
    ----------
    offsets
        Time of each stage from the start of the step, in steps.
    weights
        Weight of the slopes of each stage in the step.
    reaches
        Step from the start to each stage along the slopes of the stage before it, in steps.
    powers
        Weight of the powers of each stage in the energies of the step.
    closing_power
        Weight of the powers at the end of the step, which are those of the first stage of the next one.
    stage, start, slope, step
        Writers of the statements; h is the number `h`, those of the stage are `reach` and `weight`.
    """

    offsets: tuple[float, ...]
    weights: tuple[float, ...]
    reaches: tuple[float, ...]
    powers: tuple[float, ...]
    closing_power: float
    stage: Writer
    start: Writer
    slope: Writer
    step: Writer


def _nothing(tree: Tree, sizes: Sizes) -> list[str]:
    return []


def readable(tree: Tree) -> Tree:
    """Return a tree whose coordinates plain Python reads by field."""
    places = (tree.plain, tree.quaternions, tree.exponentials)
    plain, quaternions, exponentials = (one.view(np.recarray) for one in places)
    return tree._replace(plain=plain, quaternions=quaternions, exponentials=exponentials)


def _euler_step(tree: Tree, sizes: Sizes) -> list[str]:
    """v += h a, q displaced by h v."""
    tracer, h = Tracer(), name("h")
    q, v, a = tracer.array("q", sizes.nq), tracer.array("v", sizes.nv), tracer.array("a", sizes.nv)
    tracer.run(add_scaled, v, h, a)
    tracer.run(displace, tree, q, v, h)
    tracer.run(normalize, tree, q)
    return tracer.lines()


def _keep_start(tree: Tree, sizes: Sizes) -> list[str]:
    """q0 = q, v0 = v, and no displacement u."""
    tracer = Tracer()
    for letter, size in (("q", sizes.nq), ("v", sizes.nv)):
        tracer.run(copy, tracer.array(letter, size), tracer.array(f"{letter}_start", size))
    tracer.run(clear, tracer.array("u", sizes.nv))
    return tracer.lines()


def _next_stage(tree: Tree, sizes: Sizes) -> list[str]:
    """u = reach du/dt, q = q0 displaced by u, v = v0 + reach a."""
    tracer, reach = Tracer(), name("reach")
    q, v, a = tracer.array("q", sizes.nq), tracer.array("v", sizes.nv), tracer.array("a", sizes.nv)
    q0, v0, u = tracer.array("q_start", sizes.nq), tracer.array("v_start", sizes.nv), tracer.array("u", sizes.nv)
    du, dv = [0.0] * sizes.nv, [0.0] * sizes.nv
    tracer.run(displacement_rate, tree, u, v, du)
    tracer.run(copy, a, dv)
    tracer.run(turn_with_bodies, tree, u, dv, -1.0)
    tracer.run(copy, q0, q)
    tracer.run(copy, v0, v)
    tracer.run(add_scaled, v, reach, dv)
    tracer.run(clear, u)
    tracer.run(add_scaled, u, reach, du)
    tracer.run(displace, tree, q, u, 1.0)
    tracer.run(turn_with_bodies, tree, u, v, 1.0)
    return tracer.lines()


def _add_slope(tree: Tree, sizes: Sizes) -> list[str]:
    """Add the slopes to their weighted sums."""
    tracer, weight = Tracer(), name("weight")
    v, a, u = (tracer.array(letter, sizes.nv) for letter in ("v", "a", "u"))
    du, dv = [0.0] * sizes.nv, [0.0] * sizes.nv
    tracer.run(displacement_rate, tree, u, v, du)
    tracer.run(copy, a, dv)
    tracer.run(turn_with_bodies, tree, u, dv, -1.0)
    tracer.run(add_scaled, tracer.array("u_slope", sizes.nv), weight, du)
    tracer.run(add_scaled, tracer.array("v_slope", sizes.nv), weight, dv)
    return tracer.lines()


def _weighted_step(tree: Tree, sizes: Sizes) -> list[str]:
    """q and v from the start along the weighted slopes, whose sums are cleared."""
    tracer, h = Tracer(), name("h")
    q, v = tracer.array("q", sizes.nq), tracer.array("v", sizes.nv)
    u_slope, v_slope = tracer.array("u_slope", sizes.nv), tracer.array("v_slope", sizes.nv)
    tracer.run(copy, tracer.array("q_start", sizes.nq), q)
    tracer.run(copy, tracer.array("v_start", sizes.nv), v)
    u = [0.0] * sizes.nv
    tracer.run(add_scaled, u, h, u_slope)
    tracer.run(displace, tree, q, u, 1.0)
    tracer.run(add_scaled, v, h, v_slope)
    tracer.run(turn_with_bodies, tree, u, v, 1.0)
    tracer.run(normalize, tree, q)
    tracer.run(clear, u_slope)
    tracer.run(clear, v_slope)
    return tracer.lines()


def explicit_scheme(tableau: Tableau) -> Scheme | None:
    """Return the scheme of a Runge-Kutta method; None if a stage has slopes of others than the stage before it."""
    reaches = np.array([0.0, *np.diagonal(tableau.A, -1)])
    if np.any(np.diag(reaches[1:], -1) != tableau.A):
        return None
    c, b, reach = (tuple(one.tolist()) for one in (tableau.c, tableau.b, reaches))
    return Scheme(c, b, reach, b, 0.0, _next_stage, _keep_start, _add_slope, _weighted_step)


_EXPLICIT = {name: explicit_scheme(one.tableau) for name, one in INTEGRATORS.items() if one.tableau is not None}

SCHEMES = {
    "semi_implicit_euler": Scheme((0.0,), (1.0,), (0.0,), (0.5,), 0.5, _nothing, _nothing, _nothing, _euler_step),
    **{name: scheme for name, scheme in _EXPLICIT.items() if scheme},
}
"""Schemes by the name of their integrator."""
