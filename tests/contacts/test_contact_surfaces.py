"""Coefficients of contacts: rules that combine those of two shapes, and coefficients of pairs of bodies."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from geoms import at, found
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.contacts.forms import Collider, OwnSurface, geometry_of, sphere
from multibody_cli.contacts.surfaces import RULES

MEANS = {
    "geometric_mean": lambda a, b: statistics.geometric_mean((a, b)) if min(a, b) > 0 else 0.0,
    "harmonic_mean": lambda a, b: statistics.harmonic_mean((a, b)),
    "average": lambda a, b: statistics.mean((a, b)),
    "minimum": min,
    "maximum": max,
    "product": lambda a, b: math.prod((a, b)),
}
BALL = sphere(0.5)
APART = [at(0.9 * k, 0.0, 0.0) for k in range(3)]

coefficients = st.just(0.0) | st.floats(1e-6, 2.0)


def contacts_of(rough, smooth, surfaces=None, **rules):
    """Contacts of three balls in a row, of bodies 1, 2 and 3: rough, smooth, rough."""
    colliders = [Collider(BALL, k + 1, **(smooth if k == 1 else rough)) for k in range(3)]
    return found(geometry_of(colliders, surfaces=surfaces or {}, **rules), APART, margin=0.0)


@given(a=coefficients, b=coefficients, shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), e=coefficients)
@pytest.mark.parametrize("rule", RULES)
def test_both_coefficients_of_friction_are_combined_by_the_rule(rule, a, b, shares, e):
    surface = {"friction": a, "kinetic_friction": a * shares[0]}
    other = {"friction": b, "kinetic_friction": b * shares[1], "restitution": e}
    for contact in contacts_of(surface, other, combine=(rule, rule)):
        assert contact["friction"] == pytest.approx(MEANS[rule](a, b), rel=1e-12, abs=1e-150)
        assert contact["restitution"] == pytest.approx(MEANS[rule](0.0, e), rel=1e-12, abs=1e-150)
        assert contact["kinetic_friction"] <= contact["friction"] * (1 + 1e-15)


def test_a_pair_of_bodies_has_coefficients_of_its_own():
    """Others of the same bodies keep those of their shapes, as do coefficients that the pair leaves out."""
    rough, smooth = {"friction": 0.9, "restitution": 0.1, "torsional": 0.3}, {"friction": 0.4}
    friction = (0.5, 0.25, 0.02, 1e-3, 0.0)
    first, second = contacts_of(rough, smooth, {(2, 1): OwnSurface(friction)})
    own = ("friction", "kinetic_friction", "stribeck_speed", "rolling", "torsional")
    assert tuple(first[name] for name in own) == friction
    assert first["restitution"] == 0.1
    assert second["friction"] == pytest.approx(0.6)
    assert second["torsional"] == 0.3
    _, second = contacts_of(rough, smooth, {(2, 3): OwnSurface(restitution=0.0)})
    assert (second["restitution"], second["friction"]) == (0.0, pytest.approx(0.6))


def test_many_pairs_find_their_own_coefficients():
    generator = np.random.default_rng(1)
    pairs = {tuple(int(k) for k in generator.choice(20, 2, replace=False) + 1) for _ in range(60)}
    surfaces = {
        pair: OwnSurface(restitution=0.01 * k) for k, pair in enumerate(sorted(pairs)) if pair[::-1] not in pairs
    }
    geometry = geometry_of([Collider(BALL, k + 1, restitution=0.9) for k in range(20)], surfaces=surfaces)
    places = [at(0.01 * k, 0.0, 0.0) for k in range(20)]
    known = {frozenset(pair): surface.restitution for pair, surface in surfaces.items()}
    for contact in found(geometry, places):
        bodies = frozenset((int(contact["body_a"]), int(contact["body_b"])))
        assert contact["restitution"] == known.get(bodies, 0.9)


def test_the_shape_of_higher_priority_has_the_coefficients_of_both():
    """Those of a pair of bodies precede; equal priorities are combined."""
    rough = {"friction": 0.9, "kinetic_friction": 0.5, "restitution": 0.1, "torsional": 0.3, "priority": 1}
    smooth = {"friction": 0.4, "rolling": 0.2, "restitution": 0.7}
    names = ("friction", "kinetic_friction", "restitution", "rolling", "torsional")
    for contact in contacts_of(rough, smooth, combine=("product", "maximum")):
        assert tuple(contact[name] for name in names) == (0.9, 0.5, 0.1, 0.0, 0.3)
    for contact in contacts_of(rough, smooth | {"priority": 2}):
        assert tuple(contact[name] for name in names) == (0.4, 0.4, 0.7, 0.2, 0.0)
    first, second = contacts_of(rough, smooth, {(1, 2): OwnSurface(restitution=0.25)})
    assert (first["friction"], first["restitution"], second["restitution"]) == (0.9, 0.25, 0.1)
    for contact in contacts_of(rough, smooth | {"priority": 1}, combine=("minimum", "minimum")):
        assert (contact["friction"], contact["restitution"]) == (0.4, 0.1)
