"""Equations of motion as formulas: the dense oracle's mass matrix and bias, at random states of random trees."""

from __future__ import annotations

import numpy as np
import oracle
from hypothesis import given, settings
from machines import pack
from strategies import machines, runs_of_parts

from multibody_cli.equations.chain import chain_of
from multibody_cli.equations.terms import terms_of
from multibody_cli.joints.contract import PartCode
from multibody_cli.symbolic.evaluation import evaluate

written = runs_of_parts.filter(lambda parts: all(part.code != PartCode.EXPONENTIAL for part in parts))


def values_of(chain, q, v):
    """Numbers of the names of a chain."""
    return {f"q{k + 1}": x for k, x in enumerate(q)} | {f"v{k + 1}": x for k, x in enumerate(v)}


@given(machines(max_bodies=4, driven=False, loaded=False, runs=written))
@settings(max_examples=60)
def test_terms_agree_with_the_dense_formulation(machine):
    packed = pack(machine)
    tree, q, v = packed.tree.tree, packed.tree.q, packed.tree.v
    chain = chain_of(tree, packed.tree.joint_maps, q)
    terms = terms_of(tree, chain)
    M, h = oracle.equations(oracle.place(machine.tree_links, q, v), machine.gravity)
    numbers = values_of(chain, q, v)
    n = len(v)
    found = np.array(evaluate([value for row in terms.M for value in row], numbers), float).reshape(n, n)
    np.testing.assert_allclose(found, M.astype(float), rtol=0, atol=1e-11 * np.abs(M).max(initial=1e-300))
    bias = np.array(evaluate(terms.h, numbers), float)
    np.testing.assert_allclose(bias, h.astype(float), rtol=0, atol=1e-10 * np.abs(h).max(initial=1.0))


@given(machines(max_bodies=4, driven=False, loaded=False, runs=written))
@settings(max_examples=30)
def test_motion_subspaces_map_rates_to_body_twists(machine):
    packed = pack(machine)
    q, v = packed.tree.q, packed.tree.v
    chain = chain_of(packed.tree.tree, packed.tree.joint_maps, q)
    bodies = oracle.place(machine.tree_links, q, v)
    numbers = values_of(chain, q, v)
    for tree_link, body in zip(machine.tree_links, bodies, strict=True):
        moved = chain.bodies[tree_link.row]
        columns = [evaluate([*s.w, *s.v], numbers) for s in moved.S]
        S = np.array(columns, float).reshape(-1, 6).T
        R = body.joint_R.value.astype(float)
        w = oracle.vee(body.joint_R.first[-1] @ body.joint_R.value.T).astype(float)
        twist = np.concatenate([R.T @ w, R.T @ body.joint_x.first[-1, :, 0].astype(float)])
        np.testing.assert_allclose(S @ v, twist, rtol=0, atol=1e-11 * np.abs(twist).max(initial=1.0))
