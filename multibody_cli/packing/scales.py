"""Scales of a mechanism: tolerances and offsets are relative to them, so that its size and speed have no effect."""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.kernel import frozen
from multibody_cli.model import Floats, Records, System, Tree
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.workspace import workspace_for

SLOW = 1e-3
"""Displacement in a step, in rad or relative to the length, of the slowest motion that counts."""


BITS = 20
"""Number of bits of a scale: those that round-off does not reach."""


def with_scales(system: System, q: Floats, v: Floats, step: float) -> System:
    """Return a system with its scales: the length, the slowest rate, and the weights of coordinates and rows.

    Parameters
    ----------
    system
        The system without them.
    q, v
        (nq,) and (nv,) the state in which the weights are computed.
    step
        The time step of the run, s.
    """
    length, rate = length_of(system.tree), SLOW / step
    work = workspace_for(system)
    update_kinematics(system, 0.0, q.copy(), v.copy(), np.zeros_like(v), work)
    write_ball_columns(system.tree, work)
    turns, slides = (_rounded(np.linalg.norm(work.columns[part], axis=1)) for part in ("angular", "linear"))
    weights, rows = np.maximum(np.maximum(turns, slides / length), 1e-300), np.array(system.rows)
    errors = _errors_of_rows(work.rows, work.terms, length, 1.0 / weights)
    rows["weight"], rows["speed"] = 1.0 / errors, rate * errors
    tree = system.tree._replace(length=length, rate=rate, weights=frozen(weights))
    return system._replace(tree=tree, rows=frozen(rows))


def _rounded(sizes: Floats) -> Floats:
    """Return sizes with `BITS` bits, in which round-off of the state, as that of a unit vector, has no effect."""
    mantissas, exponents = np.frexp(sizes)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissas, BITS)), exponents - BITS))


def length_of(tree: Tree) -> float:
    """Return the length of a mechanism, m: the largest distance in a body, or 1 without any.

    The distances are those of the centre of mass and of the joints of a body from its inboard joint, and its radii of
    gyration.  Distances on the ground and coordinates do not count, so that the place of a mechanism has no effect.
    """
    links, closures = tree.links, tree.closures
    moving, at_child = links["parent"] > 0, closures["child"] < len(links)
    massive = links["mass"] > 0.0
    at_parent = (closures["parent"] > 0) & (closures["parent"] < len(links))
    arms: list[Floats] = [
        links["com"],
        links["origin"][moving],
        closures["origin"][at_parent],
        closures["child_origin"][at_child],
    ]
    largest = [np.linalg.norm(arm, axis=1).max(initial=0.0) for arm in arms]
    spread = np.abs(links["central"][massive]).max(axis=1, initial=0.0) / links["mass"][massive]
    return float(max(*largest, np.sqrt(spread.max(initial=0.0)))) or 1.0


def _errors_of_rows(rows: Records, terms: Records, length: float, coordinates: Floats) -> Floats:
    """Return the error (m,) of each row by displacements of 1 rad or of the length."""
    forces, moments = (_rounded(np.linalg.norm(terms[part], axis=1)) for part in ("f", "t"))
    of_bodies = np.maximum(forces * length, moments)
    of_coordinates = _rounded(np.abs(terms["coefficient"])) * np.append(coordinates, 0.0)[terms["iv"]]
    sizes = np.where(terms["iv"] >= 0, of_coordinates, of_bodies)
    sizes[~np.isfinite(sizes)] = 0.0  # `initial.initial_state` refuses the start
    return np.array([sizes[row["first_term"] : row["last_term"]].max(initial=0.0) or 1.0 for row in rows])
