"""The impulse of a single impact against closed forms and a direct integration, as plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from multibody_cli.contact_solver.impact_path import follow_impact
from multibody_cli.kernel.mode import interpreted

CENTRAL = np.diag([2.0, 3.0, 3.0])


def impact(W, mu, e, u):
    """Return the impulse, the velocity after the impact and the energy that friction dissipates."""
    x, u = np.zeros(3), np.array(u, float)
    with interpreted():
        dissipated = follow_impact(np.array(W, float), mu, e, u, x)
    return x, u, dissipated


def random_impact(rng, axes=3):
    """Return a Delassus matrix, friction, restitution and approach velocity; without the second tangent for 2 axes."""
    J = rng.normal(size=(3, 6))
    J[axes:] = 0.0
    u = rng.normal(size=3) * (np.arange(3) < axes)
    u[0] = -abs(u[0])
    return J @ J.T, rng.uniform(0.0, 2.0), rng.choice([0.0, 1.0, rng.uniform()]), u


def planar_impact(W, mu, e, u):
    """Return the impulse (normal, tangent) in a plane: slip, then rest or reversed slip, each of constant direction."""
    u, x, ends = np.array(u[:2], float), np.zeros(2), []
    sticks = abs(W[1, 0]) <= mu * W[1, 1]
    while True:
        if u[1] != 0.0:
            g = -mu * math.copysign(1.0, u[1])
        else:
            g = -W[1, 0] / W[1, 1] if sticks else -mu * math.copysign(1.0, W[1, 0])
        rate = W[:2, :2] @ [1.0, g]
        stop = -u[1] / rate[1] if u[1] * rate[1] < 0.0 else math.inf
        # energy of the normal as a function of the length of this side, from the sides before
        sums = np.cumsum([0.0, *(0.5 * (a + b) * s for a, b, s in ends)])
        before, least = sums[-1], min(sums)
        lowest = -u[0] / rate[0] if u[0] < 0.0 < rate[0] else 0.0
        least = min(least, before + u[0] * lowest + 0.5 * rate[0] * lowest**2)
        square = u[0] ** 2 - 2.0 * rate[0] * (before - (1.0 - e * e) * least)
        end = (math.sqrt(max(square, 0.0)) - u[0]) / rate[0] if rate[0] > 0.0 or square > 0.0 else math.inf
        if lowest <= end <= stop:
            return x + np.array([1.0, g]) * end
        # split where the normal changes its sign, so that the lowest energy is an end
        for s in (lowest, stop - lowest) if 0.0 < lowest < stop else (stop,):
            ends.append((u[0], u[0] + rate[0] * s, s))
            u, x = u + rate * s, x + np.array([1.0, g]) * s
        u[1] = 0.0


@pytest.mark.parametrize("seed", range(20))
def test_the_impulse_obeys_coulomb_and_dissipates(seed):
    """Momentum, the cone of friction, separation, and both parts of the dissipated energy are never negative."""
    W, mu, e, before = random_impact(np.random.default_rng(seed))
    x, after, friction = impact(W, mu, e, before)
    assert after == pytest.approx(before + W @ x, abs=1e-12 * max(1.0, abs(W @ x).max()))
    assert math.hypot(x[1], x[2]) <= mu * x[0] * (1.0 + 1e-12)
    assert after[0] >= -1e-12
    total = -0.5 * x @ (before + after)
    assert 0.0 <= friction <= total + 1e-12
    if e == 1.0:
        assert friction == pytest.approx(total, abs=1e-12)  # the normal returns all that it absorbed


def test_a_slow_turn_of_an_ill_conditioned_contact_comes_to_its_end():
    """The slip decays along the axis of the least eigenvalue; the impact ends with separation, and gains no energy."""
    W = np.array([[0.2045, -0.7388, 0.5219], [-0.7388, 4.7987, -3.7991], [0.5219, -3.7991, 3.0543]])
    before = np.array([-0.2276, 0.0477, -0.5017])
    x, after, friction = impact(W, 1.837, 1.0, before)
    assert after[0] > 0.1
    assert math.hypot(x[1], x[2]) <= 1.837 * x[0] * (1.0 + 1e-9)
    assert friction == pytest.approx(-0.5 * x @ (before + after), rel=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_impacts_in_a_plane_have_their_closed_form(seed):
    """Slip that goes on, stops, and reverses; the closed form has double roots, with the root of the round-off."""
    W, mu, e, before = random_impact(np.random.default_rng(100 + seed), axes=2)
    x, _, _ = impact(W, mu, e, before)
    assert x[:2] == pytest.approx(planar_impact(W, mu, e, before), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("turn", [0.0, math.pi / 4, 0.3, 0.8, math.pi / 2, 2.1, math.pi])
def test_an_impact_in_a_plane_does_not_depend_on_the_tangents(turn):
    """A contact that slips in one direction, as that of a plane mechanism, has a singular W_tt in all axes."""
    R = np.eye(3)
    R[1:, 1:] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
    rng = np.random.default_rng(5)
    for _ in range(100):
        W, mu, e, u = random_impact(rng, axes=2)
        x, v, dissipated = impact(W, mu, e, u)
        turned = impact(R @ W @ R.T, mu, e, R @ u)
        size = np.linalg.norm(u)
        np.testing.assert_allclose(W @ R.T @ turned[0], W @ x, atol=1e-9 * size)
        np.testing.assert_allclose(R.T @ turned[1], v, atol=1e-9 * size)
        assert abs(turned[2] - dissipated) < 1e-9 * size * np.abs(x).max()


def integrated_impact(W, mu, e, before):
    """Return the impulse, integrated over the normal impulse with solve_ivp; None if the slip stops or nearly so."""

    def velocity(y):
        return before + W @ y[:3]

    def rates(_, y):
        u = velocity(y)
        return [1.0, *(-mu * u[1:] / np.hypot(*u[1:])), u[0]]

    def stops(_, y):
        return np.hypot(*velocity(y)[1:]) - 1e-3

    def opens(_, y):
        return velocity(y)[0]

    def returns(_, y):
        return y[3] - (1.0 - e * e) * lowest

    stops.terminal = opens.terminal = returns.terminal = True
    opens.direction, lowest, y = 1.0, 0.0, np.zeros(4)
    for end in (opens, returns):
        solution = solve_ivp(rates, (0.0, 1e3), y, "DOP853", events=[end, stops], rtol=1e-12, atol=1e-14)
        y = solution.y[:, -1]
        if solution.t_events[1].size or not solution.t_events[0].size:
            return None
        lowest = y[3]
        if e == 0.0:
            break
    return y[:3]


def test_slip_that_turns_agrees_with_an_integration_in_the_normal_impulse():
    rng, compared = np.random.default_rng(6), 0
    while compared < 15:
        case = random_impact(rng)
        exact = integrated_impact(*case)
        if exact is not None:
            x, _, _ = impact(*case)
            assert x == pytest.approx(exact, abs=2e-5 * np.abs(exact).max())
            compared += 1


@pytest.mark.parametrize("seed", range(3))
def test_slip_that_turns_and_stops_agrees_with_small_steps(seed):
    """Friction of smoothed direction, integrated with steps of 1e-5 of the impulse."""
    W, mu, e, u = random_impact(np.random.default_rng(200 + seed))
    mu, e = 0.3, 0.7
    x, after, _ = impact(W, mu, e, u)
    step, absorbed, returned = 1e-5 * x[0], 0.0, 0.0
    while returned < e * e * absorbed or u[0] < 0.0:
        d = u[1:] / math.sqrt(u[1:] @ u[1:] + 1e-8)
        change = W @ np.array([step, *(-mu * step * d)])
        work = (u[0] + 0.5 * change[0]) * step
        absorbed, returned, u = absorbed - min(work, 0.0), returned + max(work, 0.0), u + change
    assert after == pytest.approx(u, abs=2e-3)


@pytest.mark.parametrize("seed", range(20))
def test_slip_that_hardly_turns_stops_where_that_in_a_plane_does(seed):
    """A slip across of 1e-6 of that along changes little."""
    W, mu, e, before = random_impact(np.random.default_rng(300 + seed), axes=2)
    W[2, 2] = W[1, 1]
    x, _, _ = impact(W, mu, e, before + 1e-6 * before[1] * np.eye(3)[2])
    assert x[:2] == pytest.approx(planar_impact(W, mu, e, before), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_it_is_newtons_law_where_slip_keeps_its_direction(e):
    """Without friction, central with and without slip that ends, and with slip that goes on: u_n' = -e u_n."""
    W, _, _, u = random_impact(np.random.default_rng(5), axes=2)
    slow = np.array([u[0], math.copysign(20.0, u[1]), 0.0])
    for W_, mu, before in ((W, 0.0, u), (CENTRAL, 0.5, u), (CENTRAL, 0.5, [-1.0, 0.0, 0.0]), (W, 0.1, slow)):
        _, after, _ = impact(W_, mu, e, before)
        assert after[0] == pytest.approx(-e * before[0], rel=1e-12, abs=1e-13)


def test_a_contact_that_cannot_slip_in_one_direction_or_at_all():
    """Tangents without mobility get no impulse that matters, and no division by 0."""
    x, after, _ = impact(np.diag([1.0, 0.0, 0.0]), 0.5, 0.5, [-1.0, 0.0, 0.0])
    assert (x[0], after[0]) == (1.5, 0.5)
    x, after, _ = impact(np.diag([1.0, 2.0, 0.0]), 0.5, 1.0, [-1.0, 0.1, 0.0])
    assert after == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_a_contact_that_cannot_separate_where_it_sticks_has_finite_impulses():
    """The tip of an arm of two hinges moves in a plane: where it sticks, no impulse moves it along the normal."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        J = rng.normal(size=(3, 2))
        W, v = J @ J.T, J @ rng.normal(size=2)
        u, x = v * -np.sign(v[0]), np.zeros(3)
        before = u.copy()
        dissipated = follow_impact(W, 1.5, 0.8, u, x)
        np.testing.assert_allclose(u, before + W @ x, atol=1e-9)
        assert np.abs(x).max() < 1e4
        assert 0.0 <= dissipated <= 0.5 * before @ np.linalg.pinv(W) @ before * (1 + 1e-9)
