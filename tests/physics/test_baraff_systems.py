"""The systems in which Baraff 1996 measured his method: their multipliers, counted and against a dense solution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.studies.simulation import prepare

SCENES = Path(__file__).parents[2] / "scenes" / "bench"


def started(name, *settings):
    simulation = prepare(SCENES / f"{name}.yaml", list(settings))
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    method.start(state)
    return simulation.compiled.model, state, method


def dense_multipliers(model, state, method):
    """Multipliers of all rows from J M^-1 J^T, for bodies whose coordinates have the columns S of their links."""
    system, work, links = model.system, method.work, model.system.tree.links
    update_kinematics(system, 0.0, state.q, state.v, state.a, work)
    n = links["nv"].sum()
    S = np.hstack([work.columns["angular"], work.columns["linear"]])[:n]
    M, force = np.zeros((n, n)), np.zeros(n)
    for link, body in zip(links[1:], work.bodies[1:], strict=False):
        at = slice(link["iv"], link["iv"] + link["nv"])
        x, y, z = body["h"]
        H = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        J = np.zeros((3, 3))
        J[np.triu_indices(3)] = body["J"]
        inertia = np.block([[J + np.triu(J, 1).T, H], [H.T, link["mass"] * np.eye(3)]])
        M[at, at] = S[at] @ inertia @ S[at].T
        force[at] = -S[at] @ [*body["t"], *body["f"]]
    G = np.zeros((len(work.rows), n))
    for r, row in enumerate(work.rows):
        for term in work.terms[row["first_term"] : row["last_term"]]:
            if term["body"]:
                link = links[term["body"]]
                at = slice(link["iv"], link["iv"] + link["nv"])
                G[r, at] += S[at] @ [*term["t"], *term["f"]]
    inverse = np.linalg.inv(M)
    return np.linalg.solve(G @ inverse @ G.T, -(work.rows["bias"] + G @ inverse @ force))


@pytest.mark.parametrize(("closed", "in_loops"), [(0, 0), (1, 12)])
def test_multipliers_of_the_plane_systems(closed, in_loops):
    model, state, method = started("plane_arches", f"vars.closed={closed}")
    method.step(state, 50)
    found = np.array(method.work.rows["multiplier"])
    assert len(found) == np.count_nonzero(method.work.rows["primary"]) == 108
    assert len(method.work.elimination.rows) == in_loops
    expected = dense_multipliers(model, state, method)
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def test_a_table_on_three_feet_without_friction():
    """96 multipliers, all primary; the contacts carry the table, and transmit no horizontal momentum."""
    model, state, method = started("table")
    top = method.work.bodies[model.names.body_rows[0]]
    height = float(top["x"][2])
    report = method.advance(state, 0.1)
    work, links = method.work, model.system.tree.links
    assert len(work.rows) == np.count_nonzero(work.rows["primary"]) == 96
    assert report.unsolved == 0
    assert abs(top["x"][2] - height) < 1e-7  # without contacts it would be 0.05
    masses, bodies = links["mass"][1:, None], work.bodies[1 : len(links)]
    momenta = masses * bodies["v"] + np.cross(bodies["w"], bodies["h"])
    assert np.abs(momenta[:, :2]).max() > 1e-3
    assert np.abs(momenta[:, :2].sum(axis=0)).max() < 1e-12
