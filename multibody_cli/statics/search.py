"""Search for the static equilibrium that the motion without inertia leads to from a start.

Newton's method on the forces N^T L along the motions N that all active rows allow, with the stiffness

    K = -N^T dL/dq N

of the second variation.  Where K has negative or small eigenvalues, their sizes take their place, so that the forces
do work along each step, and the search descends from maxima and saddles of the energy.  A step is halved until the
forces still do work at its end, or oppose it at most by half, or are smaller.  After each step, the configuration is
projected onto the rows.  One-sided rows become active where a step violates them, and inactive where they would pull.

Source: Nocedal and Wright, Numerical Optimization (2006), chapters 3 (modified Newton, Wolfe conditions) and 16
(active sets).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.implicit.linearization import compute_mass_matrix
from multibody_cli.kernel import Flags, Floats
from multibody_cli.model import Model, State
from multibody_cli.packing.ropes import follow_ropes
from multibody_cli.statics.active_rows import RANK, Balance, balance, multipliers
from multibody_cli.statics.admissible import Stability, stability_on_cone
from multibody_cli.statics.kinks import Sides, examine_sides
from multibody_cli.statics.second_variation import scales, second_variation
from multibody_cli.statics.unbalanced_forces import SecondDerivatives, UnbalancedForces, displaced

MOST_STEPS = 300

LARGEST_STEP = 0.5
"""Largest displacement of a step, rad or lengths of the mechanism."""

FARTHEST = 50.0
"""Length of the way from the start, rad or lengths, behind which there is no equilibrium."""

BALANCED = 1e-10
"""Largest unbalanced force of an equilibrium, relative to the forces; the search goes on to round-off."""

ROUND_OFF = 1e-14
"""Errors of rows that are not worth a step."""

NOTHING = 1e-20
"""Unbalanced force, relative to the forces, that is not worth a step."""

TOUCHING = 1e-9
"""Gap of a one-sided row that counts as closed, rad or lengths."""

ASYMMETRY = 1e-6
"""Difference of the stiffness from a symmetric one, relative to the largest, that is an error of differences."""

SMALLEST_PART = 2.0**-30


class Place(NamedTuple):
    """Coordinates q (nq,), scaled forces (n,) and Jacobian (m, n), errors of rows (m,), and the balance there."""

    q: Floats
    forces: Floats
    G: Floats
    errors: Floats
    balance: Balance

    @property
    def unbalanced(self) -> Floats:
        """The unbalanced forces (k,) along the motions of the active rows, J/rad."""
        return self.balance.N.T @ (self.forces + self.G.T @ self.balance.x)


class Equilibrium(Immutable, eq=False):
    """An equilibrium.

    Parameters
    ----------
    state
        Its state; the rates are those that were held.
    multipliers
        (m,) forces of the rows, N or N m by their units.
    active
        (m,) rows that are satisfied with equality: all equalities, and pressed one-sided rows.
    residual
        Largest unbalanced force, relative to the forces that balance.
    stiffness
        (k,) eigenvalues of the second variation, J per rad^2 or per square of the length of the mechanism, ascending; 0
        where errors may have caused them.
    directions
        (nv, k) displacements that belong to them, as columns.
    potential
        Whether the stiffness is symmetric, as that of forces with a potential.
    circulatory
        (k, k) antisymmetric part of the stiffness along these displacements; 0 of forces with a potential.
    steps
        Number of steps of Newton's method.
    touched
        Number of one-sided rows that are closed without force: they restrict displacements to one side.
    on_cone
        Stability on the displacements that these rows allow; "stable" without them, where the stiffness decides.
    kinks
        Coordinates along which a force has a kink at the equilibrium, and the sides whose stiffness this is, 1 or -1:
        those with the least one.
    sides
        Stiffness and stability by all sides of these kinks; None without kinks.
    differences
        Why the stiffness is that of differences; "" if it is that of exact derivatives, by dual numbers.
    """

    state: State
    multipliers: Floats
    active: Flags
    residual: float
    stiffness: Floats
    directions: Floats
    potential: bool
    circulatory: Floats
    steps: int
    touched: int = 0
    on_cone: Stability = "stable"
    kinks: tuple[tuple[int, int], ...] = ()
    sides: Sides | None = None
    differences: str = "the stiffness is unknown"

    @property
    def stability(self) -> Stability:
        """Stability by the second variation on the admissible displacements; `unknown` without a potential."""
        if self.sides is not None:
            return self.sides.stability
        if not self.potential:
            return "unknown"
        if self.touched:
            return self.on_cone
        return "unstable" if self.unstable else "neutral" if self.neutral else "stable"

    @property
    def unstable(self) -> int:
        """Number of directions in which the energy decreases, on both sides of touched rows."""
        return int(np.count_nonzero(self.stiffness < 0.0))

    @property
    def neutral(self) -> int:
        """Number of directions in which nothing opposes a displacement, on both sides of touched rows.

        At kinks it is that of the side with the most of them.
        """
        each = (self.stiffness,) if self.sides is None else self.sides.stiffness
        return max(int(np.count_nonzero(one == 0.0)) for one in each)


class NoEquilibrium(RunFailed):
    """The search found no equilibrium: its last state, and the coordinate with the largest unbalanced force."""

    def __init__(self, message: str, state: State, coordinate: int) -> None:
        super().__init__(message)
        self.state, self.coordinate = state, coordinate


class Search:
    """The search in one model.

    Parameters
    ----------
    model
        The model in joint coordinates; its prescribed motions hold.
    state
        The start, whose rates are those of a steady motion; 0 for equilibrium.
    held
        (nv,) coordinates that do not move in the search.
    """

    def __init__(self, model: Model, state: State, held: Flags) -> None:
        self._model, self._forces = model, UnbalancedForces(model, state.copy())
        n, tree = self._forces.n, model.system.tree
        self._free = np.flatnonzero(~(tree.driven[:n] | held[:n]))
        self._sizes = 1.0 / np.maximum(tree.weights[self._free], 1e-200)
        self._weights = np.asarray(model.system.rows["weight"])
        self._equality = np.asarray(model.system.rows["one_sided"]) == 0
        self._holonomic = np.asarray(model.system.rows["holonomic"]) == 1
        mass, length = float(tree.links["mass"].sum()), tree.length
        self._square = max(tree.rate**2, float(np.linalg.norm(tree.gravity)) / length)  # of the least rate that counts
        self._start, self._steps, self._way = state.q.copy(), 0, 0.0
        inertia = np.diag(self._mass_matrix(state.q, np.eye(len(self._free))))
        self._least = self._square * np.maximum(inertia, np.finfo(float).eps * mass * length**2)  # of massless ones

    def solve(self) -> Equilibrium:
        """Return the equilibrium.

        Raises
        ------
        NoEquilibrium
            There is none, or it was not found.
        """
        here, best = self._place(self._projected(self._start, self._equality)), np.inf
        while True:
            K, size = self._stiffness(here), _size(here)
            scale = self._scale(here)
            round_off = np.maximum(BALANCED * scale, ROUND_OFF * np.abs(K).max(axis=1, initial=0.0))
            is_balanced = bool((np.abs(here.unbalanced) <= round_off).all())
            if (np.abs(here.unbalanced) <= NOTHING * scale).all():
                return self._found(here)
            step = _step(K, here.unbalanced, BALANCED * scale)
            if size >= 0.5 * best and (is_balanced or np.abs(step).max(initial=0.0) <= BALANCED):
                return self._found(here)
            best = min(best, size)
            after = self._moved(here, step)
            if not _is_symmetric(K, np.maximum(scale, np.abs(K).max(axis=1, initial=0.0))) and (
                after is None or _size(after) > 0.9 * size
            ):
                after = self._moved(here, _limited(np.linalg.lstsq(K, here.unbalanced, rcond=RANK)[0])) or after
            if after is None:
                if is_balanced:
                    return self._found(here)
                raise self._failure(here, "the forces jump, or change faster than displacements can follow")
            if self._steps == MOST_STEPS:
                raise self._endless(here, f"forces remain after {MOST_STEPS} steps of the search")
            if self._way > FARTHEST:
                raise self._endless(here, "nothing holds it")
            here, self._steps = after, self._steps + 1

    # --- places ---------------------------------------------------------------------------------------------------
    def _place(self, q: Floats) -> Place:
        forces = self._sizes * self._forces.at(q, np.zeros(len(self._weights)))[self._free]
        G, errors = self._rows(q)
        touching = ~self._equality & (errors <= TOUCHING)
        return Place(q, forces, G, errors, balance(forces, G, self._equality, touching, self._least))

    def _rows(self, q: Floats) -> tuple[Floats, Floats]:
        """Return the scaled Jacobian and errors of all rows."""
        G, errors = self._forces.jacobian(q)
        return self._weights[:, None] * G[:, self._free] * self._sizes, np.where(
            self._holonomic, self._weights * errors, 0.0
        )

    def _projected(self, q: Floats, active: Flags) -> Floats:
        """Return the coordinates nearby at which active rows have no error, and no one-sided row is violated."""
        least = np.inf
        for _ in range(MOST_STEPS):
            G, errors = self._rows(q)
            chosen = active | (~self._equality & (errors < 0.0))
            error = float(np.abs(errors[chosen]).max(initial=0.0))
            if error <= ROUND_OFF or (error < TOUCHING and error >= 0.5 * least):
                return q
            least = min(least, error)
            shift = -np.linalg.lstsq(G[chosen], errors[chosen], rcond=1e-10)[0]
            q = self._displaced(q, shift * min(1.0, LARGEST_STEP / max(np.abs(shift).max(), 1e-300)))
        raise self._failure(None, "its loops and constraints cannot be satisfied on the way")

    def _displaced(self, q: Floats, shift: Floats) -> Floats:
        """Return the coordinates after a scaled displacement (n,)."""
        moved = displaced(self._model, q, self._whole(shift))
        state = self._forces.state
        state.q[:] = moved
        follow_ropes(self._model, state, q)
        return moved

    def _whole(self, shift: Floats) -> Floats:
        """Return displacements (nv, ...) from scaled ones (n, ...)."""
        whole = np.zeros((self._model.nv, *shift.shape[1:]))
        whole[self._free] = (self._sizes * shift.T).T
        return whole

    # --- steps ----------------------------------------------------------------------------------------------------
    def _stiffness(self, here: Place) -> Floats:
        """Return K (k, k), J, for a step."""
        N = here.balance.N
        slopes = self._forces.along(here.q, self._weights * here.balance.x, self._whole(N))
        return np.asarray(-N.T @ (self._sizes[:, None] * slopes[self._free]))

    def _mass_matrix(self, q: Floats, directions: Floats) -> Floats:
        """Return the mass matrix (k, k) along scaled directions (n, k), J s^2."""
        forces, D = self._forces, self._whole(directions)[: self._forces.n]
        M, state = np.zeros((forces.n, forces.n)), forces.state._replace(q=q.copy()).copy()
        compute_mass_matrix(self._model.system, forces.work, state, np.zeros(forces.n), M)
        return np.asarray(D.T @ M @ D)

    def _moved(self, here: Place, step: Floats) -> Place | None:
        """Return the place after a step (k,), shortened; None if nothing is gained."""
        N, active = here.balance.N, here.balance.active
        shift = N @ step
        L = here.forces + here.G.T @ multipliers(here.forces, here.G, active)
        work, size, part = float(L @ shift), _size(here), 1.0
        while part > SMALLEST_PART and np.abs(shift).max(initial=0.0) > 0.0:
            after = self._place(self._projected(self._displaced(here.q, part * shift), active))
            x = np.where(active, here.balance.x, 0.0)
            left = float((after.forces + after.G.T @ x) @ shift)
            if (work > 0.0 and left >= -0.5 * work) or _size(after) < 0.9 * size:
                self._way += part * float(np.abs(shift).max())
                return after
            part *= 0.5
        return None

    def _sizes_of_forces(self, forces: Floats, G: Floats, x: Floats) -> Floats:
        """Return the size of the forces that balance in each coordinate (n,), J: at least that of its inertia."""
        of_rows = np.abs(G.T * x).max(axis=1, initial=0.0)
        return np.asarray(np.maximum(np.maximum(self._least, np.abs(forces)), of_rows))

    def _scale(self, here: Place) -> Floats:
        """Return the size of the forces that balance along each motion (k,), J."""
        sizes = self._sizes_of_forces(here.forces, here.G, here.balance.x)
        return np.asarray(np.max(np.where(here.balance.N != 0.0, sizes[:, None], 0.0), axis=0, initial=0.0))

    def _second_variation(self, here: Place) -> tuple[SecondDerivatives, Floats]:
        """Return the stiffness with samples of its error, and the least error of its diagonal (k,)."""
        N, x = here.balance.N, self._weights * here.balance.x
        weights = self._square * self._mass_matrix(here.q, N)
        found = self._forces.second_variation(here.q, x, self._whole(N), self._scale(here))
        return found, np.finfo(float).eps * np.diag(weights)

    # --- results --------------------------------------------------------------------------------------------------
    def _found(self, here: Place) -> Equilibrium:
        found, least = self._second_variation(here)
        N, x = here.balance.N, self._weights * here.balance.x
        touched = here.G[self._holonomic & ~here.balance.active & (here.errors <= TOUCHING)] @ N
        sides = None
        if found.kinks:
            sides = examine_sides(self._forces, here.q, x, self._whole(N), found, least, touched)
            found = sides.weakest
        variation, symmetric = second_variation(found.K, found.samples, least)
        stiffness, axes = variation.eigenvalues(np.eye(len(least)))
        sizes = np.maximum(self._scale(here), np.abs(found.K).max(axis=1, initial=0.0))
        return Equilibrium(
            state=self._forces.state._replace(q=here.q).copy(),
            multipliers=x,
            active=here.balance.active,
            residual=_largest(here.unbalanced / sizes),
            stiffness=stiffness,
            directions=self._whole(N @ axes),
            potential=symmetric,
            circulatory=np.zeros_like(found.K) if symmetric else 0.5 * axes.T @ (found.K - found.K.T) @ axes,
            steps=self._steps,
            touched=len(touched),
            on_cone=stability_on_cone(found.K, found.samples, least, touched),
            kinks=tuple(self._side(here, *one) for one in found.kinks),
            sides=sides,
            differences=found.differences,
        )

    def _side(self, here: Place, column: int, side: int) -> tuple[int, int]:
        """Return the coordinate that a displacement to one side changes most, and the sign of its change."""
        shift = side * here.balance.N[:, column]
        most = int(np.argmax(np.abs(shift)))
        return int(self._free[most]), int(np.sign(shift[most]))

    def _endless(self, here: Place, reason: str) -> NoEquilibrium:
        """Return the failure of a search that does not end: of forces that no stiffness opposes, if there are any."""
        (K, samples, *_), least = self._second_variation(here)
        still = second_variation(K, samples, least)[0].still
        along = still @ (still.T @ here.unbalanced)
        if (np.abs(along) > BALANCED * self._scale(here)).any():
            return self._failure(here, "nothing holds it", along)
        return self._failure(here, reason)

    def _failure(self, here: Place | None, reason: str, along: Floats | None = None) -> NoEquilibrium:
        state, coordinate = self._forces.state.copy(), 0
        if here is not None:
            state.q[:] = here.q
            forces = here.forces + here.G.T @ here.balance.x if along is None else here.balance.N @ along
            coordinate = int(self._free[np.argmax(np.abs(forces))])
        return NoEquilibrium(reason, state, coordinate)


def _step(K: Floats, forces: Floats, zero: Floats) -> Floats:
    """Return the step (k,) of Newton's method with the forces, of limited size, along which they do work.

    A stiffness below `zero` (k,) may be round-off.
    """
    if len(K) == 0:
        return forces
    scale = scales(np.maximum(np.maximum(np.abs(K), np.abs(K.T)), np.diag(zero)))
    scaled = scale[:, None] * K * scale
    stiffness, axes = np.linalg.eigh(0.5 * (scaled + scaled.T))
    least = np.maximum(zero @ (scale[:, None] * axes) ** 2, 1e-300)
    if (stiffness > least).all():
        return _limited(scale * np.linalg.solve(scaled, scale * forces))
    along = axes.T @ (scale * forces) / np.maximum(np.abs(stiffness), least)
    parts = scale[:, None] * axes * along
    return _limited(np.sum([_limited(part) for part in parts.T], axis=0))


def _limited(step: NDArray[np.floating]) -> Floats:
    """Return a step (k,) of limited size."""
    return np.asarray(step * min(1.0, LARGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300)))


def _size(place: Place) -> float:
    """Return the largest unbalanced force of a place, J/rad."""
    return _largest(place.unbalanced)


def _largest(values: Floats) -> float:
    """Return the largest size of values, 0 without any."""
    return float(np.abs(values).max(initial=0.0))


def _is_symmetric(K: Floats, scale: Floats) -> bool:
    return bool((np.abs(K - K.T) <= ASYMMETRY * np.maximum.outer(scale, scale)).all())
