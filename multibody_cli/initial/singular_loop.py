"""Singular positions of closed loops, such as change points of collinear links, where a run that failed may have been.

There the rows of a loop depend on each other, the position is that of two branches of the motion, and the loads of its
joints grow without bound.  Rows that always depend on others, as those of a planar loop in space, do not count: the
singular values of the constraint Jacobian are compared with those of another position of the same mechanism.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.alarms.contract import Raised, Remedy, RunSettings
from multibody_cli.alarms.remedies import ELSEWHERE, EXPLICIT
from multibody_cli.immutable import replace
from multibody_cli.implicit.linearization import compute_constraint_jacobian
from multibody_cli.initial.assemble import Assembler
from multibody_cli.initial.scales import Scales
from multibody_cli.model import Floats, Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import Work, workspace_for

NEAR = 0.1
"""Ratio of a singular value to that elsewhere below which a position is nearly singular."""

EXACT = 1e-6
"""The same, below which small motions about the position are not those of one branch."""

ALWAYS = 1e-6
"""Singular value elsewhere, relative to the largest, below which rows depend on others in all positions."""

ASIDE = 0.3
"""Displacement to the other position, relative to the coordinates."""


CLOSED = 1e-3
"""Largest error of a loop of which the position is known, relative to its length."""

MOST = 6
"""Largest number of coordinates that a message lists."""


class SingularLoop(NamedTuple):
    """The element with the row that becomes dependent, by section and name, and the position, for messages."""

    section: str
    name: str
    position: str

    def __str__(self) -> str:
        return f"the loop of joint `{self.name}`" if self.section == "joints" else f"{self.section} `{self.name}`"

    @property
    def remark(self) -> str:
        """The message about small motions."""
        return (
            f"{self} is in a singular position, such as a change point of collinear links ({self.position}): branches "
            "of the motion meet there, and a linearization holds for none of them alone; start beside it, on one branch"
        )


def advise_beside_singular_loops(
    model: Model, settings: RunSettings, start: State, end: State | None
) -> tuple[RunSettings, Raised | None]:
    """Return the settings of a run that failed, and a warning, with advice if it failed near a singular position.

    Newton's iterations of implicit integrators do not lead past a position where the loads are unbounded, and a motion
    that starts there is not unique.  `end` is the state in which a run diverged, None of another one.
    """
    found, advice = None, EXPLICIT
    if end is not None and end.time[0] > start.time[0] and settings.integrator.implicit:
        found = find_singular_loop(model, end)
    if found is None:
        found, advice = find_singular_loop(model, start), ELSEWHERE
    if found is None:
        return settings, None
    message = (
        f"{found} is near a singular position, such as a change point of collinear links ({found.position}): its rows "
        "depend on each other there"
    )
    return replace(settings, position=advice), Raised("loops", "warning", message, Remedy(change=advice))


def find_singular_loop(model: Model, state: State, near: float = NEAR) -> SingularLoop | None:
    """Return the loop or constraint that is near a singular position, as `NEAR` or `EXACT`; None without.

    Only joint coordinates distinguish a position from its neighbors; of a model without them, the result is None.
    """
    if not model.system.is_constrained or not np.isfinite(state.q).all():
        return None
    there, work = state.copy(), workspace_for(model.system)
    assembler = Assembler(model, there)
    if assembler.assemble_positions(np.zeros(model.nv, np.bool_)).before.relative > CLOSED:
        return None
    here, values, directions = _decompose(model, there, work, assembler.scales)
    free = directions[values <= ALWAYS * values.max()]
    motion = np.zeros(model.nv)
    motion[: free.shape[1]] = np.random.default_rng(0).standard_normal(len(free)) @ free
    largest = np.abs(motion).max(initial=0.0)
    if largest == 0.0:
        return None
    displace(model.system.tree, there.q, motion * assembler.scales.coordinates, ASIDE / largest)
    normalize(model.system.tree, there.q)
    if not assembler.assemble_positions(np.zeros(model.nv, np.bool_)).closed:
        return None
    elsewhere, others, _ = _decompose(model, there, work, assembler.scales)
    effective = others > ALWAYS * others.max()
    lost = effective & (values < near * others)
    if not lost.any():
        return None
    shares = (elsewhere[:, effective] ** 2).sum(axis=1) - (here[:, effective & ~lost] ** 2).sum(axis=1)
    row = model.names.rows[int(np.argmax(shares))]
    return SingularLoop(row.section, row.element, _position(model, state))


def _position(model: Model, state: State) -> str:
    """Return time and first coordinates of the joints of the tree."""
    tree = [joint for joint in model.names.joints if joint.row < len(model.system.tree.links)]
    values = [f"`{joint.name}` {q:.4g}" for joint in tree for q in state.q[joint.positions]]
    more = f" and {len(values) - MOST} more" if len(values) > MOST else ""
    return f"t = {state.time[0]:.6g} s, q: {', '.join(values[:MOST])}{more}"


def _decompose(model: Model, state: State, work: Work, scales: Scales) -> tuple[Floats, Floats, Floats]:
    """Return the singular value decomposition (m, n), (n,), (n, n) of the constraint Jacobian, relative to the scales.

    It has n values, as many as coordinates of the tree, in descending order; those beyond the number of rows are 0.
    """
    system = model.system
    n, m = int(system.tree.links["nv"].sum()), len(system.rows)
    G = np.zeros((m, n))
    compute_constraint_jacobian(system, work, state, G)
    G[system.rows["one_sided"] == 1] = 0.0
    G *= scales.coordinates[:n] / scales.rows[:, None]
    rows, values, directions = np.linalg.svd(np.vstack((G, np.zeros((max(n - m, 0), n)))), full_matrices=False)
    return rows[:m], values, directions
