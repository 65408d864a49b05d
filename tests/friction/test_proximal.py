"""The proximal method on whole worlds: closed forms, the conditions of Coulomb's law, and staggered projections."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigid import (
    GROUND,
    World,
    cube,
    factored,
    gain,
    pile,
    proximal_scratch,
    size,
    solve,
    solve_factored,
    stack,
    violation,
)

from multibody_cli.contact_solver.friction import dense, natural_map, proximal, proximal_step
from multibody_cli.contact_solver.friction.elimination_order import order_blocks
from multibody_cli.contact_solver.friction.problem import Options, compute_offset, scale_rows, set_free_velocity
from multibody_cli.contact_solver.friction.rescue import rescue
from multibody_cli.contact_solver.friction.staggered_projections import solve_staggered, staggered_scratch_for
from multibody_cli.contact_solver.laws.coulomb import project
from multibody_cli.kernel.mode import interpreted
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED

G = 9.81


def wall(rows, columns, length=0.2, height=0.1, depth=0.1, mass=2.0):
    """Bricks in rows, with half bricks at the ends of every other row; four contacts for each face on a face."""
    spans = []
    for i in range(rows):
        edges = np.arange(columns + 1.0) if i % 2 == 0 else np.r_[0.0, np.arange(columns) + 0.5, columns]
        spans += [(i, length * a, length * b) for a, b in itertools.pairwise(edges)]
    own = [mass * (b - a) / length for _, a, b in spans]
    boxes = [(b - a, depth, height) for _, a, b in spans]
    inertias = [m / 12 * (np.dot(s, s) - np.square(s)) for m, s in zip(own, boxes, strict=True)]
    world = World(own, inertias, [((a + b) / 2, 0.0, (i + 0.5) * height) for i, a, b in spans])
    for k, (i, a, b) in enumerate(spans):
        below = [(h, max(a, c), min(b, d)) for h, (row, c, d) in enumerate(spans) if row == i - 1]
        for h, c, d in [(GROUND, a, b)] if i == 0 else [one for one in below if one[2] - one[1] > 1e-9]:
            for x in (c, d):
                for y in (-depth / 2, depth / 2):
                    world.touch(h, k, (x, y, i * height))
    return world


def velocities(world, x, v):
    return world.jacobian() @ (v + world.jacobian().T @ x / world.mass)


# --- bodies at rest -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("world", [stack(1), stack(10), stack(40), wall(4, 4), wall(8, 6)])
def test_what_stands_stands_still(world):
    """To round-off of the speed of a step of gravity."""
    v = world.falling([0.0, 0.0, -G])
    x, report = solve_factored(world, v, 0.5)
    assert report.status == SOLVED
    assert np.abs(velocities(world, x, v)).max() < 1e-13 * G * len(world.positions)
    assert violation(*world.problem(v), 0.5, x) < 1e-13


def test_the_report_counts_the_steps_of_proximal_iterations_and_of_paths(monkeypatch):
    """Iterations that end at once make paths necessary; the guess of rest counts as well."""
    homes = {"guess_rest": proximal, "follow_path": rescue, "follow_coulomb": proximal_step}
    counted = {name: [] for name in homes}

    def counting(name):
        function = getattr(homes[name], name)

        def count(*arguments):
            answer = function(*arguments)
            counted[name].append(answer if name == "guess_rest" else answer[0])
            return answer

        return count

    monkeypatch.setattr(proximal_step, "MAX_ITERATIONS", 1)
    for name, home in homes.items():
        monkeypatch.setattr(home, name, counting(name))
    world = pile(np.random.default_rng(0), 3, 8)
    with interpreted():
        _, report = solve_factored(world, world.falling([0.3, 0.2, -G]), 0.9)
    assert all(sum(counts) > 3 for name, counts in counted.items() if name != "guess_rest")
    assert sum(counted["guess_rest"]) == 1
    assert len(counted["follow_coulomb"]) > 2
    assert report.steps == sum(map(sum, counted.values()))


@pytest.mark.parametrize("count", [2, 10, 40])
def test_a_stack_at_rest_is_solved_without_a_guess_in_few_steps(count):
    """One step carries the loads through all cubes at once; from impulses of 0, 40 cubes take 71 steps."""
    world = stack(count)
    _, report = solve_factored(world, world.falling([0.0, 0.0, -G]), 0.5)
    assert report.status == SOLVED
    assert report.steps <= 25


def test_a_guess_that_leads_nowhere_is_dropped(monkeypatch):
    """Then the problem is solved as one without a guess, and the report counts both."""
    world = pile(np.random.default_rng(1), 3, 8)
    v = world.falling([0.3, 0.2, -G])
    with interpreted():  # compiled code rounds otherwise, and may take another number of steps
        expected, unguessed = solve_factored(world, v, 0.9)
    solve, calls = proximal.solve_from_guess, []

    def fail_once(F, options, x, n, S):
        calls.append(x.copy())
        if len(calls) == 1:
            x[:] = 0.0
            return proximal.SolutionReport(UNFINISHED, 1, 7, 1.0)
        return solve(F, options, x, n, S)

    monkeypatch.setattr(proximal, "solve_from_guess", fail_once)
    with interpreted():
        x, report = solve_factored(world, v, 0.9, guess=np.tile([1.0, 0.2, 0.0], 8))
    assert [guess.any() for guess in calls] == [True, False]
    assert report.status == SOLVED
    assert report.steps == 7 + unguessed.steps - 1  # the guess of rest is not tried again
    np.testing.assert_allclose(x, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("bodies", "mu", "seed"), [(10, 0.9, 6), (20, 3.0, 66), (20, 3.0, 79)])
def test_multiples_of_impulses_lead_to_solutions_that_no_other_guess_finds(bodies, mu, seed):
    """60 contacts, also with much friction; all starts before these end with residuals of 1e-5 or more."""
    world = pile(np.random.default_rng(seed), bodies, 60)
    v = world.falling([0.3, 0.2, -9.81])
    x, report = solve_factored(world, v, mu)
    assert report.status == SOLVED
    assert violation(*world.problem(v), mu, x) < 1e-9


def test_the_faces_of_a_wall_carry_what_is_above():
    world = wall(6, 4)
    x, _ = solve_factored(world, world.falling([0.0, 0.0, -G]), 0.5)
    carried = x.reshape(-1, 3)[: 4 * 4, 0].sum()  # the bricks of the lowest row are the first
    assert carried == pytest.approx(world.mass[::6].sum() * G, rel=1e-12)


def test_corners_share_equally_without_a_guess():
    world = stack(1)
    x, _ = solve_factored(world, world.falling([0.0, 0.0, -G]), 0.5)
    np.testing.assert_allclose(x.reshape(-1, 3), np.tile([0.5 * G / 4, 0, 0], (4, 1)), atol=1e-12)


def test_a_guess_of_the_same_is_the_solution_at_once():
    world = wall(5, 4)
    v = world.falling([0.0, 0.0, -G])
    x, _ = solve_factored(world, v, 0.5)
    again, report = solve_factored(world, v, 0.5, guess=x)
    assert report.steps <= 4
    np.testing.assert_allclose(again, x, atol=1e-11 * np.abs(x).max())


# --- sliding bodies -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("slope", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("direction", [0.0, np.pi / 4, 1.1])
def test_the_threshold_is_mu_in_every_direction(slope, direction):
    """To a millionth of it; staggered projections meet it to 1e-8 (`test_friction_laws`)."""
    angle = np.arctan(slope)
    down = G * np.array([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), -np.cos(angle)])
    world = stack(1)
    v = world.falling(down)
    x, report = solve_factored(world, v, slope * (1 + 1e-6))
    assert report.status == SOLVED
    assert np.abs(velocities(world, x, v)).max() < 1e-13 * G
    x, report = solve_factored(world, v, slope * (1 - 1e-6))
    along = velocities(world, x, v).reshape(-1, 3)[:, 1:] @ [np.cos(direction), np.sin(direction)]
    assert report.status == SOLVED
    np.testing.assert_allclose(along, 1e-6 * G * np.sin(angle), rtol=1e-4)


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.4])
def test_a_sliding_block_slows_as_coulomb_says(mu):
    world = stack(1)
    v = world.falling([3.0, 4.0, -G])
    u = velocities(world, solve_factored(world, v, mu)[0], v).reshape(-1, 3)
    np.testing.assert_allclose(u, np.tile((1 - mu * G / 5.0) * np.array([0, 3.0, 4.0]), (4, 1)), atol=1e-11)


@pytest.mark.parametrize(("count", "speed", "mu"), [(23, (1.0, 0.5), 0.3), (24, (3.0, 0.5), 0.2)])
def test_stacks_that_slide_and_topple_are_solved(count, speed, mu):
    """Faces slide, stick and open all at once, each pressed by those above."""
    world = stack(count)
    v = world.falling([*speed, -G])
    x, report = solve_factored(world, v, mu)
    assert report.status == SOLVED
    assert violation(*world.problem(v), mu, x) < 1e-10


# --- anything -------------------------------------------------------------------------------------------------------
def random_world(seed, bodies, contacts, held, limits):
    rng = np.random.default_rng(seed)
    world, unit = pile(rng, bodies, contacts), np.eye(6 * bodies)
    chosen = rng.permutation(6 * bodies)
    world.equalities = [unit[[k]] for k in chosen[:held]]
    world.limits = [unit[[k]] for k in chosen[held : held + limits]]
    return world, world.falling([0, 0, -1]) + rng.normal(size=6 * bodies), rng


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 14), st.integers(0, 2), st.integers(0, 2))
def test_random_worlds_meet_the_conditions_or_say_so(seed, bodies, contacts, held, limits):
    """And energy never grows, solved or not; nothing pulls, and friction never exceeds its limit."""
    world, v, rng = random_world(seed, bodies, contacts, held, limits)
    (W, r), mu = world.problem(v), rng.uniform(0, 0.8, contacts)
    x, report = solve_factored(world, v, mu)
    assert gain(W, r, x) <= 1e-13 * size(W, r, x) ** 2
    failing = violation(W, r, mu, x, held, limits)
    assert report.status in (SOLVED, UNFINISHED)
    if report.status == SOLVED:
        assert failing < 1e-9


@pytest.mark.parametrize(("bodies", "contacts", "worlds"), [(4, 10, 100), (12, 48, 60), (20, 80, 30)])
def test_random_worlds_are_solved(bodies, contacts, worlds):
    for seed in range(worlds):
        world, v, rng = random_world(seed, bodies, contacts, 0, 0)
        mu = rng.uniform(0, 0.8, contacts)
        x, report = solve_factored(world, v, mu)
        assert report.status == SOLVED, seed
        assert violation(*world.problem(v), mu, x) < 1e-10, seed


def test_slippery_and_rough_contacts_side_by_side():
    """Coefficients too small for a cone of their own on the path, and large ones."""
    for seed in range(10):
        world, v, _ = random_world(seed, 6, 15, 1, 1)
        mu = np.resize([0.0, 1e-9, 1e-4, 0.5, 1.5], 15)
        x, report = solve_factored(world, v, mu)
        assert report.status == SOLVED, seed
        assert violation(*world.problem(v), mu, x, 1, 1) < 1e-10, seed


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_the_motion_is_that_of_the_contact_program(seed):
    world, v, _ = random_world(seed, 4, 8, 1, 1)
    W, r = world.problem(v)
    x, report = solve_factored(world, v, 0.0)
    program, _ = solve(W, r, 0.0, 1, 1)
    assert report.status == SOLVED
    np.testing.assert_allclose(W @ x, W @ program, atol=1e-9 * size(W, r, x))


def test_what_gaps_allow_is_used():
    """A normal that may close at 0.25 closes at that."""
    world = World([1.0], [cube(1.0, 1.0)], [(0, 0, 0.5)])
    world.touch(GROUND, 0, (0, 0, 0))
    v = np.array([0, 0, -1.0, 0, 0, 0])
    x, _ = solve_factored(world, v, 0.5, r=world.jacobian() @ v + [0.25, 0, 0])
    assert x[0] == pytest.approx(0.75, rel=1e-12)


def test_impulses_do_not_depend_on_the_motion_that_is_offset():
    """Velocities of the rows that are a millionth of those of the bodies: b = r - B xi0 is large beside r.

    The problem of a box that hits the floor with a corner, after its impact; some steps to its solution diverge.
    """
    W = [
        [10.27345425871849, 0.16210523977183472, -9.493585524602455],
        [0.16210523977183472, 16.991341644701425, -1.178757797569741],
        [-9.493585524602455, -1.178757797569741, 17.598228144680157],
    ]
    r = np.array([-7.652807564739739e-05, 0.00017535338753688068, 9.856036208066854e-05])
    mu = 0.7979745061760877
    world = World([1.0], [[1.0, 1.0, 1.0]], [(0, 0, 0)])
    world.contacts = [np.hstack([np.linalg.cholesky(W), np.zeros((3, 3))])]
    alone, _ = solve_factored(world, np.zeros(6), mu, r=r)
    for v in np.vstack([0.5 * np.eye(3), -0.5 * np.eye(3)]):
        x, report = solve_factored(world, np.r_[v, 0, 0, 0], mu, guess=0.0, r=r)
        assert report.status == SOLVED
        assert violation(np.array(W), r, mu, x) < 1e-9
        np.testing.assert_allclose(x, alone, rtol=1e-9)


@pytest.mark.parametrize("wrong", [1e200, np.inf, np.nan])
def test_impulses_whose_size_is_no_finite_number_are_no_solution(wrong):
    world = stack(2)
    W, r = world.problem(world.falling([0.4, 0.0, -9.81]))
    F, S, x = factored(world, world.falling([0.4, 0.0, -9.81]), 0.5), proximal_scratch(world), np.zeros(len(r))
    x[0] = wrong
    scale_rows(F)
    order_blocks(F, S.matrix.elimination)
    set_free_velocity(F, S.xi0)
    compute_offset(F, S.xi0)
    assert natural_map.relative_residual(F, x, S) == np.inf
    problem = dense.DenseProblem(W, r, F.mu, F.loads, 0, 0, 0)
    assert dense.relative_residual(problem, x, np.zeros(len(r))) == np.inf


def test_nan_is_reported():
    world = stack(1)
    x, report = solve_factored(world, np.full(6, np.nan), 0.5)
    assert report.status == NOT_FINITE
    assert np.isnan(x).all()


# --- journals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(30))
def test_discs_of_given_radius_take_what_they_can(seed):
    """Friction in discs is one convex program: at its solution each disc opposes its slip, or holds it."""
    rng = np.random.default_rng(seed)
    world = pile(rng, 5, 12)
    v = rng.normal(size=len(world.mass))
    pressed = rng.uniform(0.0, 2.0, 12) * rng.integers(0, 2, 12)
    guess = np.zeros(36)
    guess[::3] = pressed
    x, report = solve_factored(world, v, 1.0, guess=guess, friction_patches=12)
    assert report.status == SOLVED
    np.testing.assert_allclose(x[::3], pressed, rtol=1e-15)
    J = world.jacobian()
    tangents = np.flatnonzero(np.arange(36) % 3)
    friction = np.where(np.arange(36) % 3, x, 0.0)
    u = (J @ (v + J.T @ friction / world.mass))[tangents].reshape(-1, 2)
    beta = x[tangents].reshape(-1, 2)
    largest, speeds = np.linalg.norm(beta, axis=1), np.linalg.norm(u, axis=1)
    assert (largest <= pressed * (1 + 1e-12)).all()
    np.testing.assert_allclose(pressed * speeds + (beta * u).sum(axis=1), 0.0, atol=1e-9 * np.abs(v).max() * 2.0)


@pytest.mark.parametrize("tiny", [1e-309, 1e-300, 1e-160])
def test_friction_next_to_nothing_is_no_danger(tiny):
    g, D = np.zeros(3), np.zeros((3, 3))
    for mu, alpha in ((0.0, 1.0), (0.5, -1.0)):
        project(mu, 0, np.array([alpha, tiny, tiny]), g, D)
        assert np.isfinite(g).all()
        assert np.isfinite(D).all()
        assert abs(g[1]) <= tiny


def driven_contact(seed, slip, turn):
    """A contact that a drive slides along a direction in which no impulse moves it, in axes turned by an angle."""
    rng = np.random.default_rng(seed)
    rows, r = np.zeros((3, 6)), np.array([-1.0, rng.uniform(-1.0, 1.0), slip])
    coupling = rng.uniform(-0.9, 0.9)
    rows[:2, :2] = np.linalg.cholesky([[2.0, coupling], [coupling, 1.0]])
    R = np.eye(3)
    R[1:, 1:] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    world = World([1.0], [[1.0, 1.0, 1.0]], [(0, 0, 0)])
    world.contacts = [R @ rows]
    return world, R @ r, R


@pytest.mark.parametrize("slip", [1e-6, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_friction_opposes_slip_that_no_impulse_changes(seed, slip):
    """In all axes, of which some have no response, and by both solvers."""
    mu, expected = 0.5, None
    for turn in (0.0, 0.5 * np.pi, 0.3, 2.0):
        world, r, R = driven_contact(seed, slip, turn)
        W = world.jacobian() @ world.jacobian().T
        x, report = solve_factored(world, np.zeros(6), mu, r=r)
        assert report.status == SOLVED
        assert violation(W, r, mu, x) < 1e-10
        assert np.hypot(x[1], x[2]) == pytest.approx(mu * x[0], rel=1e-12)
        expected = R.T @ x if expected is None else expected
        np.testing.assert_allclose(R.T @ x, expected, atol=1e-8)
        other = np.full(3, np.nan)
        problem = factored(world, np.zeros(6), mu, r)
        assert solve_staggered(problem, Options(), other, staggered_scratch_for(3)).status == SOLVED
        np.testing.assert_allclose(R.T @ other, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_slip_of_round_off_that_no_impulse_changes_has_no_friction(seed):
    """As that of a plane mechanism across its plane: other friction is that of a contact that slides in the plane."""
    for slip in (0.0, 1e-15, -1e-13):
        world, r, _ = driven_contact(seed, slip, 0.0)
        x, report = solve_factored(world, np.zeros(6), 0.5, r=r)
        assert report.status == SOLVED
        assert x[2] == 0.0
