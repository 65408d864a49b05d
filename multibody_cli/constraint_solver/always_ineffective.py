"""Rows that are ineffective in every configuration, such as those across the plane of a mechanism of parallel hinges.

The effect of a row is its Jacobian in the coordinates of the tree, the sum of S . w over its terms.  The Jacobian is an
analytic function of the coordinates: where it vanishes at configurations drawn at random, it vanishes everywhere.  The
multiplier of such a row is 0 in the least-norm sense, and no motion changes its error.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.loop_frames import update_loop_frames
from multibody_cli.constraint_solver.loop_joints import write_loop_rows
from multibody_cli.constraints.elements import write_all
from multibody_cli.kernel import kernel
from multibody_cli.model import Floats, System
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import dot, power, shift_force
from multibody_cli.tree.jacobian import column_of, write_ball_columns
from multibody_cli.tree.kinematics import forward_kinematics
from multibody_cli.tree.workspace import Work, workspace_for

SAMPLES = 3
"""Number of configurations."""

NO_EFFECT = 1e-10
"""Effect of a row on a coordinate that counts as round-off, relative to motion times force, and force times length.

It is far below the tolerances of `ineffective_rows`.
"""


def always_ineffective_rows(system: System) -> set[int]:
    """Return the numbers of the rows that are ineffective in every configuration."""
    rng, work, tree = np.random.default_rng(0), workspace_for(system), system.tree
    most, effect, magnitude = np.zeros(len(system.rows)), np.zeros(len(tree.driven)), np.zeros(len(tree.driven))
    for _ in range(SAMPLES):
        q = rng.uniform(-1.0, 1.0, len(tree.plain) + 4 * len(tree.quaternions))
        for first in tree.quaternions["iq"]:
            q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
        _place(system, q, rng.uniform(), work)
        add_effects(tree, work, effect, magnitude, most)
    return set(np.flatnonzero(most <= NO_EFFECT).tolist())


def _place(system: System, q: Floats, t: float, work: Work) -> None:
    """Write all rows at any coordinates q (nq,), also of prescribed motions, and at rest."""
    tree, rest = system.tree, np.zeros(len(system.tree.driven))
    forward_kinematics(tree, q, rest, rest, work)
    update_loop_frames(tree, q, rest, work)
    write_loop_rows(tree, rest, work)
    write_all(system.constraints, t, work.bodies, q, work.rows, work.terms)
    write_ball_columns(tree, work)


@kernel
def add_effects(tree, work, effect, magnitude, most):
    """Raise `most` (m,) to the largest relative effect of each row on a free coordinate.

    `effect` and `magnitude` (nv,) are scratch, 0 at first and on return.
    """
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    for r in range(len(work.rows)):
        row = work.rows[r]
        for again in range(2):
            for k in range(row.first_term, row.last_term):
                term = work.terms[k]
                if term.iv >= 0:
                    most[r] = max(most[r], 1.0 if term.coefficient != 0.0 else 0.0)
                    continue
                W, i = load_force(term), term.body
                force, moment = dot(W.f, W.f) ** 0.5, dot(W.t, W.t) ** 0.5
                while i > 0:
                    for j in range(links[i].iv, links[i].iv + links[i].nv):
                        S = column_of(columns[j])
                        if again:
                            most[r] = larger_ratio(most[r], effect[j], magnitude[j])
                            effect[j] = magnitude[j] = 0.0
                        elif not driven[j]:
                            effect[j] += power(S, W)
                            magnitude[j] += dot(S.w, S.w) ** 0.5 * moment + dot(S.v, S.v) ** 0.5 * force
                    arm = load(bodies[i].r)
                    W, i, moment = shift_force(W, arm), links[i].parent, moment + dot(arm, arm) ** 0.5 * force


@kernel
def larger_ratio(most, effect, magnitude) -> float:
    """Return the larger one of `most` and |effect| / magnitude; 1 where these are not numbers."""
    if not abs(effect) <= NO_EFFECT * magnitude:
        ratio = abs(effect) / magnitude if magnitude > 0.0 else 1.0
        return max(most, ratio) if ratio == ratio else 1.0
    return most
