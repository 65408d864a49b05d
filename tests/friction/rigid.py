"""Friction problems of rigid bodies in numpy, and the conditions of Coulomb's law, written independently."""

from __future__ import annotations

import numpy as np

from multibody_cli.contact_solver.friction.dense import DenseProblem
from multibody_cli.contact_solver.friction.problem import Factored, FactoredScratch, Options
from multibody_cli.contact_solver.friction.proximal import ProximalScratch, solve_proximal
from multibody_cli.contact_solver.friction.staggered_projections import stagger, staggered_scratch_for
from multibody_cli.contact_solver.laws import CONVEX_CONE, COULOMB
from multibody_cli.kernel import allocate

GROUND = -1


def cross(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def frame(normal):
    """Unit normal and two unit tangents."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    t = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])


class World:
    """Bodies with masses, moments of inertia (world axes) and positions; contacts between them or the ground."""

    def __init__(self, masses, inertias, positions):
        self.positions = np.asarray(positions, float)
        self.mass = np.concatenate([np.r_[np.full(3, m), i] for m, i in zip(masses, inertias, strict=True)])
        self.equalities, self.limits, self.contacts, self.loads = [], [], [], []

    def rows(self, below, above, point, axes):
        J = np.zeros((len(axes), len(self.mass)))
        for body, sign in ((below, -1.0), (above, 1.0)):
            if body != GROUND:
                arm = np.asarray(point, float) - self.positions[body]
                J[:, 6 * body : 6 * body + 6] = sign * np.hstack([axes, -np.asarray(axes) @ cross(arm)])
        return J

    def touch(self, below, above, point, axes=((0, 0, 1), (1, 0, 0), (0, 1, 0))):
        self.contacts.append(self.rows(below, above, point, np.asarray(axes, float)))

    def add_resistance(self, contact, below, above, axes):
        """A moment of a contact about one or two axes, after all contacts; its first row is the normal."""
        J = np.zeros((3, len(self.mass)))
        J[0] = self.contacts[contact][0]
        for row, axis in zip(J[1:], axes, strict=False):
            for body, sign in ((below, -1.0), (above, 1.0)):
                if body != GROUND:
                    row[6 * body + 3 : 6 * body + 6] = sign * np.asarray(axis)
        self.loads.append(len(self.equalities) + len(self.limits) + 3 * contact)
        self.contacts.append(J)

    def jacobian(self):
        return np.vstack([*self.equalities, *self.limits, *self.contacts, np.zeros((0, len(self.mass)))])

    def problem(self, v):
        J = self.jacobian()
        return (J / self.mass) @ J.T, J @ np.asarray(v, float)

    def falling(self, gravity):
        """Velocities after a second of falling from rest."""
        return np.tile(np.r_[np.asarray(gravity, float), 0, 0, 0], len(self.positions))


def cube(mass, side):
    return np.full(3, mass * side**2 / 6)


def stack(count, side=0.1, mass=0.5):
    """Cubes on each other, four contacts at the corners of each face."""
    world = World([mass] * count, [cube(mass, side)] * count, [(0, 0, side * (k + 0.5)) for k in range(count)])
    for k in range(count):
        for x in (-0.5, 0.5):
            for y in (-0.5, 0.5):
                world.touch(k - 1, k, (x * side, y * side, k * side))
    return world


def pile(rng, bodies, contacts):
    """Bodies that touch each other and the ground at random places in random directions, mostly upward."""
    world = World(rng.uniform(0.5, 2.0, bodies), rng.uniform(0.05, 0.5, (bodies, 3)), rng.normal(size=(bodies, 3)))
    for k in range(contacts):
        above = k % bodies
        below = int(rng.integers(-1, bodies))
        if below == above:
            below = GROUND
        world.touch(below, above, rng.normal(size=3), frame(rng.normal(size=3) + np.array([0, 0, 1.5])))
    return world


def solve(W, r, mu, equalities=0, limits=0, guess=np.nan, friction_patches=0, loads=(), **options):
    """(impulses, report) by staggered projections, with work arrays full of rubbish."""
    m = len(r)
    scratch = staggered_scratch_for(m + 3)
    for array in (scratch.W, scratch.V, scratch.b, scratch.y, scratch.u, scratch.gap, scratch.iterations.gram):
        array.fill(np.nan)
    x = np.array(np.broadcast_to(guess, m), float)
    mu = np.array(np.broadcast_to(mu, (m - equalities - limits) // 3), float)
    kinds = (np.array(loads, np.int64), equalities, equalities + limits, friction_patches)
    problem = DenseProblem(np.array(W), np.array(r, float), mu, *kinds)
    return x, stagger(problem, Options(**options), x, scratch)


def factored(world, v, mu, r=None, friction_patches=0, convex=False):
    """The `Factored` problem of a world of bodies at v; r as far as it is not J v.

    The first contacts may be of joint friction: the guess has their loads, and they have no normals.
    """
    J, mass, bodies = world.jacobian(), world.mass, len(world.mass) // 6
    constraint_rows, contacts = len(world.equalities) + len(world.limits), len(world.contacts)
    S = allocate(FactoredScratch, m=constraint_rows + 3 * contacts, contacts=contacts, nodes=bodies, blocks=bodies)
    B = (J / np.sqrt(mass)).reshape(len(J), bodies, 6)
    S.block.fill(-1)
    for rows in [slice(k, k + 1) for k in range(constraint_rows)] + [
        slice(k, k + 3) for k in range(constraint_rows, len(J), 3)
    ]:
        for side, body in enumerate(np.flatnonzero(np.abs(B[rows]).max(axis=(0, 2)))):
            S.block[rows, side] = body
            S.first[rows, side] = 6 * (bodies * np.arange(rows.start, rows.stop) + body)
    S.block[constraint_rows : constraint_rows + 3 * friction_patches : 3] = -1
    S.width[:], S.xi0[:], S.mu[:] = 6, np.sqrt(mass) * v, mu
    S.r[:] = J @ np.asarray(v, float) if r is None else r
    S.r[constraint_rows : constraint_rows + 3 * friction_patches : 3] = 0.0
    places = (S.first, S.block, S.start, S.width, S.xi0, S.r, S.b, S.w, S.mu, np.array(world.loads, np.int64))
    return Factored(
        B.ravel(), *places, len(world.equalities), constraint_rows, friction_patches, CONVEX_CONE if convex else COULOMB
    )


def proximal_scratch(world):
    """Work arrays of the proximal method for a world of bodies."""
    bodies, contacts = len(world.mass) // 6, len(world.contacts)
    m = len(world.equalities) + len(world.limits) + 3 * contacts
    return allocate(ProximalScratch, m=m, contacts=contacts, nodes=bodies, blocks=bodies)


def solve_factored(world, v, mu, guess=np.nan, r=None, friction_patches=0, convex=False, **options):
    """(impulses, report) of a world of bodies at v by the proximal method; see `factored`."""
    problem = factored(world, v, mu, r, friction_patches, convex)
    x = np.array(np.broadcast_to(guess, len(problem.r)), float)
    return x, solve_proximal(problem, Options(**options), x, proximal_scratch(world))


def gain(W, r, x):
    """Change of the kinetic energy, r being the velocities before."""
    return x @ W @ x / 2 + r @ x


def size(W, r, x):
    own = np.diag(W)
    return max(np.max(np.abs(r[own > 0]) / np.sqrt(own[own > 0]), initial=0), np.sqrt(max(x @ W @ x, 0)))


def violation(W, r, mu, x, equalities=0, limits=0, loads=()):
    """The worst failing of Coulomb's law, relative to the size of the problem; pulling and exceeding are errors.

    The last discs are moments with the loads of other rows, and a first row without an impulse.
    For a row, a velocity in the norm of W; for friction, the dissipation that is possible and missing,
    mu alpha |u_t| + beta.u_t, which is 0 in Coulomb's law and else positive.
    """
    u, own, whole = W @ x + r, np.sqrt(np.diag(W)), size(W, r, x)
    worst, first = np.max(np.abs(u[:equalities]) / own[:equalities], initial=0) / whole, equalities + limits
    last = len(r) - 3 * len(loads)
    one_sided = [*range(equalities, first), *range(first, last, 3)]
    assert not x[last::3].any()
    of_discs = [*range(first, last, 3), *loads]
    assert (x[one_sided] >= 0).all()
    for i in one_sided:
        worst = max(worst, -u[i] / own[i] / whole, min(x[i] * own[i], u[i] / own[i]) / whole)
    for i, load, m in zip(range(first, len(r), 3), of_discs, np.broadcast_to(mu, len(of_discs)), strict=True):
        limit, beta, slip = m * x[load], x[i + 1 : i + 3], u[i + 1 : i + 3]
        assert np.hypot(*beta) <= limit * (1 + 2e-16)
        worst = max(worst, (limit * np.hypot(*slip) + beta @ slip) / whole**2)
    return worst
