"""Spans of ropes between two discs: tangents on the side of the sense, or none."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multibody_cli.cables.span import ends_of

GROUND = [SimpleNamespace(x=np.zeros(3), R=np.eye(3).ravel())]


def disc(centre: Any, axis: Any, radius: float, sense: float) -> Any:
    return SimpleNamespace(row=0, centre=np.array(centre), axis=np.array(axis), radius=radius, sense=sense)


def unit(v: Any) -> Any:
    return v / np.linalg.norm(v)


def vector(v: Any) -> Any:
    return np.array([v.x, v.y, v.z])


def length_of(a: Any, b: Any) -> float:
    return float(np.linalg.norm(vector(ends_of(a, b, GROUND).d)))


@pytest.mark.parametrize("seed", range(300))
def test_spans_of_discs_about_parallel_axes_are_tangents_of_both_circles(seed):
    """Seen along the axes, circles may overlap: then there is an open span alone, unless one lies within the other."""
    rng = np.random.default_rng(seed)
    n, r, s = unit(rng.normal(size=3)), *rng.uniform(0.1, 0.6, 2)
    senses = rng.choice([-1.0, 1.0], 2)
    centre = rng.normal(size=3)
    apart, along = np.linalg.norm(np.cross(n, centre)), n @ centre
    is_crossed = senses[0] != senses[1]
    reach = r + s if is_crossed else r - s
    found = length_of(disc(np.zeros(3), n, r, senses[0]), disc(centre, n, s, senses[1]))
    if apart > abs(reach):
        assert found == pytest.approx(math.sqrt(apart**2 - reach**2 + along**2), rel=1e-9)
    else:
        assert math.isnan(found)


@pytest.mark.parametrize("seed", range(300))
def test_spans_of_any_discs_are_tangents_on_the_side_of_the_sense_or_undefined(seed):
    rng = np.random.default_rng(1000 + seed)
    axes, senses, radii = rng.normal(size=(2, 3)), rng.choice([-1.0, 1.0], 2), rng.uniform(0.05, 0.6, 2)
    axes[1] = unit(axes[0] if seed % 2 else axes[1])
    axes[0] = unit(axes[0])
    first = disc(np.zeros(3), axes[0], radii[0], senses[0])
    ends = ends_of(first, disc(rng.normal(size=3), axes[1], radii[1], senses[1]), GROUND)
    d = vector(ends.d)
    if np.isnan(d).any():
        return
    for n, e, sense in zip(axes, map(vector, (ends.e_a, ends.e_b)), senses, strict=True):
        np.testing.assert_allclose([d @ e, n @ e, e @ e], [0.0, 0.0, 1.0], atol=1e-9)
        assert sense * (np.cross(n, e) @ d) > 0.0


def test_crossed_discs_that_overlap_along_their_axes_have_no_span():
    a, b = disc([0, 0, 0], [0, 1, 0], 0.1, 1.0), disc([0.15, 0.3, 0], [0, 1, 0], 0.1, -1.0)
    assert math.isnan(length_of(a, b))
    b.sense = 1.0
    assert length_of(a, b) == pytest.approx(math.hypot(0.15, 0.3))


def test_discs_in_contact_have_an_open_span_and_a_crossed_one_without_length():
    a, b = disc([0, 0, 0], [0, 1, 0], 0.1, 1.0), disc([0.3, 0, 0], [0, 1, 0], 0.2, 1.0)
    assert length_of(a, b) == pytest.approx(math.sqrt(0.3**2 - 0.1**2))
    b.sense = -1.0
    assert not length_of(a, b) > 1e-7  # or none
