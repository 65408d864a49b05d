"""Stiffness and damping of every force element: K and D by finite differences, and their approximation for solvers."""

from __future__ import annotations

import numpy as np
import pytest
from force_scenes import ELEMENTS, element_in, energy, floating, moved, thrown, twists, varied, wrenches

from multibody_cli.forces.element_products import add_stiffness_blocks, linearize_forces
from multibody_cli.kernel import records
from multibody_cli.tree.workspace import CHILD_INERTIA

pytestmark = pytest.mark.parametrize("name", ELEMENTS)
SEEDS = range(3)


def hurried(work, change, s):
    """The bodies with s times the change as additional twist."""
    bodies = np.array(work.bodies)
    bodies["w"] += s * change[:, :3]
    bodies["v"] += s * change[:, 3:]
    return work._replace(bodies=records(bodies))


def difference(system, work, shifted, change):
    """Central differences of fourth order."""
    h = 1e-4  # the curves of muscles are smooth in pieces alone
    displaced = [wrenches(system, shifted(work, change, s * h))[0] for s in (-2, -1, 1, 2)]
    return (displaced[0] - 8 * displaced[1] + 8 * displaced[2] - displaced[3]) / (12 * h)


def random_change(rng, rows):
    change = rng.normal(size=(rows, 6))
    change[0] = 0.0  # the ground
    return change


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("shifted", "factors"), [(moved, (1.0, 0.0)), (hurried, (0.0, 1.0))])
def test_K_and_D_are_derivatives(name, seed, shifted, factors):
    rng = np.random.default_rng(seed)
    system = floating(name)
    work = thrown(system, rng)
    change = random_change(rng, len(work.bodies))
    wanted = difference(system, work, shifted, change)
    found = varied(system, work, change, *factors, True)
    np.testing.assert_allclose(found, wanted, atol=2e-8 * (1.0 + np.abs(wanted).max()))


WITHOUT_ENERGY = {"muscle", "pennate", "pennate_muscle_by_state", "pennate_thelen", "slack_rope"}
"""Elements that are not stretched."""


@pytest.mark.parametrize("seed", SEEDS)
def test_the_power_of_forces_is_stored_or_dissipated(name, seed):
    """Power on the bodies = - d(elastic energy)/dt + work - dissipation, for any motion: force = -grad V."""
    rng = np.random.default_rng(seed)
    system = floating(name)
    work = thrown(system, rng)
    found, powers = wrenches(system, work)
    h, V = 3e-5, twists(work)
    far, near = (energy(system, moved(work, V, k * h)) - energy(system, moved(work, V, -k * h)) for k in (2, 1))
    stored = (8 * near - far) / (12 * h)
    element = element_in(system)
    booked = powers[0] if element.account == "work" else -powers[0]
    assert np.sum(found * V) == pytest.approx(booked - stored, rel=1e-6, abs=1e-6)
    assert name in WITHOUT_ENERGY or (abs(stored) > 0.1) == (element.elastic_energy is not None)


@pytest.mark.parametrize("seed", SEEDS)
def test_stiffness_blocks_are_symmetric_and_passive(name, seed):
    rng = np.random.default_rng(seed)
    system = floating(name)
    work = thrown(system, rng)
    n = 6 * (len(work.bodies) - 1)
    for factors in ((1.0, 0.0), (0.0, 1.0), (0.3, 0.7)):
        kept = np.zeros((n, n))
        for j in range(n):
            change = np.zeros((len(work.bodies), 6))
            change[1:].flat[j] = 1.0
            kept[:, j] = varied(system, work, change, *factors, False)[1:].ravel()
        size = 1.0 + np.abs(kept).max()
        np.testing.assert_allclose(kept, kept.T, atol=1e-13 * size)
        assert np.linalg.eigvalsh(0.5 * (kept + kept.T)).max() <= 1e-12 * size
        blocks = records(np.zeros(len(work.bodies), CHILD_INERTIA))
        linearize_forces(system.forces, 0.0, work.bodies)
        add_stiffness_blocks(system.forces, 0.0, work.bodies, *factors, blocks)
        for row in range(len(work.bodies) - 1):
            own = kept[6 * row : 6 * row + 6, 6 * row : 6 * row + 6]
            np.testing.assert_allclose(block_of(blocks[row + 1]), -own, atol=1e-13 * size)


def block_of(record):
    """A 6 x 6 block from its record."""

    def symmetric(numbers):
        full = np.zeros((3, 3))
        full[np.triu_indices(3)] = numbers
        return full + np.triu(full, 1).T

    H = np.array(record["H"]).reshape(3, 3).T
    return np.block([[symmetric(record["J"]), H], [H.T, symmetric(record["M"])]])
