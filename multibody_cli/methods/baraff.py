"""Method `baraff`: Lagrange multipliers in O(n), in maximal coordinates.

Every body has its own degrees of freedom, six if it is rigid, and every joint is a constraint between two bodies.
Joints and other constraints between two bodies that form a tree are primary: with them the matrix

    [  M  -J^T ] [ a      ]   [  f ]
    [ -J    0  ] [ lambda ] = [ -c ]

has a sparse L D L^T factorization without fill-in (`kkt.ldl_tree`).  Rows that close cycles are eliminated where these
close (`constraint_solver.constrained_nodes`), limits and couplings are auxiliary: each row needs one more solve with
the same factors (`constraint_solver.solver`).  Drift is removed by projection.

Source: Baraff 1996, Linear-time dynamics using Lagrange multipliers, sections 6 to 8.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.constrained_nodes import (
    ConstrainedTree,
    constrained_tree_for,
    factor,
    factor_and_solve,
    solve,
    solve_motions,
    write_rows_of_nodes,
)
from multibody_cli.constraint_solver.open_rows import read_rhs
from multibody_cli.constraint_solver.prediction import Prediction, prediction_with
from multibody_cli.constraint_solver.projection import Projection
from multibody_cli.constraint_solver.projection_of_bodies import projection_of_bodies
from multibody_cli.constraint_solver.row_elimination import (
    RowElimination,
    no_row_elimination,
    row_elimination_for,
    set_primary,
)
from multibody_cli.constraint_solver.uncertain_rows import mark_primary_rows, raise_thresholds, uncertain_rows_of
from multibody_cli.immutable import replace
from multibody_cli.kernel import kernel
from multibody_cli.kkt import assembly
from multibody_cli.kkt.assembly import bodies_of, gather_forces, scatter_motions
from multibody_cli.kkt.joint_nodes import (
    joint_nodes_of,
    mark_joint_nodes,
    mark_rotors,
    rotors_in_nodes,
    write_joint_nodes,
)
from multibody_cli.kkt.nodes import Cells, kkt_tree_for, vector_for
from multibody_cli.linalg.vectors import clear
from multibody_cli.methods.by_acceleration import AccelerationKind, EliminatedRows, MethodKernels, ReusedFactors
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.options import ImplicitOptions
from multibody_cli.methods.row_elimination import LOST, with_rows
from multibody_cli.model import KERNEL_GENERAL, Floats, Integers, Model, Records, System
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.workspace import Work, workspace_for


class Sparse(NamedTuple):
    """Work arrays of this method only."""

    kkt: ConstrainedTree
    first_links: Integers  # (n + 1,) first link of each node, and the end
    joint_nodes: Records  # bodies that are one block with their joint
    uncertain: Records  # rows of nodes that may be dependent
    x: Cells  # forces on the bodies, then their accelerations
    multipliers: Floats  # (m,)


def workspace(model: Model, options: Any, plan: RowElimination | None = None, eliminates_rotors: bool = False) -> Work:
    """Allocate the work arrays, with the blocks of a system's bodies and joints, and the plan of rows in loops."""
    system = model.system
    first_links, n_dofs = bodies_of(system.tree)
    kkt = kkt_tree_for(system.tree.inboard_joints, n_dofs)
    joint_nodes = joint_nodes_of(system, first_links, n_dofs)
    mark_joint_nodes(kkt, joint_nodes)
    uncertain, m = uncertain_rows_of(kkt, system.rows), len(system.rows)
    rotors = rotors_in_nodes(system, joint_nodes if eliminates_rotors else joint_nodes[:0])
    plan = plan or no_row_elimination(len(system.tree.links))
    work = workspace_for(system, primary=len(uncertain) + len(plan.rows) + len(rotors) > 0, reuses_factors=True)
    work.rows["primary"][rotors["first_row"]] = 1
    places = mark_rotors(kkt, rotors, first_links, system.tree)
    tree = constrained_tree_for(kkt, plan, m, work, system.tree.driven, places)
    sparse = Sparse(tree, first_links, joint_nodes, uncertain, vector_for(kkt), np.zeros(m))
    return work._replace(scratch=sparse, elimination=plan)


def workspace_with_loops(model: Model, options: Any) -> Work:
    """Allocate the work arrays; rotors are eliminated with their joint, and rows that close loops where they close."""
    work = workspace(model, options, row_elimination_for(model.system), True)
    return work._replace(terms=work.terms[:0]) if reads_no_terms(model.system, work, options) else work


def reads_no_terms(system: System, work: Work, options: Any) -> bool:
    """Whether all rows are those of joints that are one block with their body, and nothing else reads their terms."""
    first, last = (work.scratch.kkt.nodes[name][work.scratch.joint_nodes["node"]] for name in ("first_row", "last_row"))
    others = system.contacts or system.implicit or system.coupled or len(system.motions.rows) > 0
    return not others and options.stabilization == "projection" and int(np.sum(last - first)) == len(system.rows)


@kernel
def accelerate(system, work, a):
    """Compute dv/dt of all bodies into `a` (nv,), primary rows at their right-hand sides; stores the factorization."""
    sparse = work.scratch
    for i in range(1, len(system.tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    assemble(system, work, True)
    load_right_hand_sides(system, work)
    if not factor_and_solve(sparse.kkt, sparse.x, sparse.multipliers):
        assemble(system, work, False)
        load_right_hand_sides(system, work)
        factor_and_solve(sparse.kkt, sparse.x, sparse.multipliers)
    mark_primary(work)
    store_solution(system, work, a)


@kernel
def accelerate_again(system, work, a):
    """Like `accelerate`, with the factors of the same positions."""
    for i in range(1, len(system.tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    solve_for_bodies(system, work, a)


@kernel
def factor_bodies(system, work, a):
    """Like `accelerate`, for the factors alone; decides which of the uncertain rows and of those in loops are primary.

    Where rows of different loops depend on each other, all rows of loops are rows of the Delassus matrix.
    """
    assemble(system, work, True)
    if not factor(work.scratch.kkt):
        assemble(system, work, False)
        factor(work.scratch.kkt)
    mark_primary(work)


@kernel
def factor_tree(system, work, a):
    """Like `factor_bodies`, without the rows that close loops; the factors with them are lost."""
    assemble(system, work, False)
    factor(work.scratch.kkt)
    mark_primary(work)
    work.elimination.regular[0] = LOST


@kernel
def assemble(system, work, closes):
    """Write the blocks of all bodies and rows; rows that close loops are eliminated, too, if it `closes` them."""
    sparse, plan = work.scratch, work.elimination
    assembly.assemble(sparse.kkt, sparse.first_links, system.tree, work)
    write_joint_nodes(sparse.joint_nodes, sparse.kkt, work.bodies)
    raise_thresholds(sparse.uncertain, sparse.kkt, sparse.first_links, system.tree, work)
    plan.regular[0] = closes and len(plan.rows) > 0
    if plan.regular[0]:
        write_rows_of_nodes(sparse.kkt, system.tree.links, work)


@kernel
def mark_primary(work):
    """Mark the uncertain rows and those in loops that the last factorization eliminates as primary."""
    sparse = work.scratch
    mark_primary_rows(sparse.uncertain, sparse.kkt, work.rows)
    set_primary(work, work.elimination.regular[0])


@kernel
def apply_inverse_mass(system, work, x, y):
    """Compute the rates y (nv,) from the impulses in `work.wrenches`, primary rows at their right-hand sides."""
    clear(y)
    solve_for_bodies(system, work, y)


@kernel
def respond(system, work, y):
    """Compute the motions of all bodies, as rates y and as (dw, dv), for the right-hand sides of the rows alone.

    Only special rows get multipliers.
    """
    sparse, rows, special = work.scratch, work.rows, work.special_rows
    x, multipliers = sparse.x, sparse.multipliers
    clear(x.numbers)
    for r in range(len(work.rhs)):
        multipliers[r] = work.rhs[r]
    solve_motions(sparse.kkt, x, multipliers)
    scatter_motions(sparse.kkt, sparse.first_links, system.tree, work, x, y)
    for k in range(len(special)):
        rows[special[k]].multiplier = multipliers[special[k]]


def projections_of(system: System) -> tuple[Projection, Prediction | None] | None:
    """Return the operations of projections for free bodies on primary rows alone; None for any other system.

    Single screws and balls are one block with their body there, so that the factorization reads no terms of their rows.
    Where all rows are holonomic, kernels predict the position errors.
    """
    links, n_dofs = bodies_of(system.tree)
    rows, closures, kernels = system.rows, system.tree.closures, system.tree.closures["joint_kernel"]
    if not np.all(rows["primary"] & (rows["active"] == 1)):
        return None
    frames = joint_nodes_of(system, links, n_dofs)["frame"]
    if not np.isin(closures["loop_frame"][kernels != KERNEL_GENERAL], frames).all():
        return None
    by_iteration = bool(np.any(kernels == KERNEL_GENERAL))  # whether coordinates of joints are fitted
    prediction = prediction_with(factor_bodies, respond, by_iteration) if np.all(rows["holonomic"]) else None
    return projection_of_bodies(respond, by_iteration), prediction


@kernel
def solve_for_bodies(system, work, y):
    """Compute the motions of all bodies, as rates y and as (dw, dv), and the multipliers of the primary rows."""
    load_right_hand_sides(system, work)
    solve(work.scratch.kkt, work.scratch.x, work.scratch.multipliers)
    store_solution(system, work, y)


@kernel
def load_right_hand_sides(system, work):
    """Load the forces `work.wrenches` on the bodies and the right-hand sides of all rows."""
    sparse = work.scratch
    gather_forces(sparse.kkt, sparse.first_links, system.tree, work, sparse.x)
    for r in range(len(work.rhs)):
        sparse.multipliers[r] = work.rhs[r]
    read_rhs(work, work.elimination)


@kernel
def store_solution(system, work, y):
    """Store the motions of all bodies, as rates y and as (dw, dv), and the multipliers of the primary rows."""
    sparse, plan, rows = work.scratch, work.elimination, work.rows
    scatter_motions(sparse.kkt, sparse.first_links, system.tree, work, sparse.x, y)
    for r in range(len(work.rhs)):
        if rows[r].primary:
            rows[r].multiplier = sparse.multipliers[r]
    if plan.regular[0] == 1:
        for index in range(len(plan.rows)):
            rows[plan.rows[index]].multiplier = plan.x[index]


KERNELS = MethodKernels(
    accelerate,
    apply_inverse_mass,
    workspace,
    reused=ReusedFactors(factor_bodies, accelerate_again),
    projections=projections_of,
)
"""Rows that close loops are rows of the Delassus matrix: the base of `variational_maximal`."""

IN_CONTACT_STEPS = EliminatedRows(None, factor_tree, apply_inverse_mass, partial(with_rows, factor_bodies))
"""Dry friction of joints needs rows that close loops in its own problem, beside contacts and patches."""

WITH_LOOPS = replace(KERNELS, workspace=workspace_with_loops, rows=IN_CONTACT_STEPS)

BARAFF = AccelerationKind(
    name="baraff",
    description="Lagrange multipliers in maximal coordinates, O(n)",
    kernels=KERNELS,
    supports=frozenset(Feature) - {Feature.REDUCTION, Feature.COMPUTED_TORQUE},
    Options=ImplicitOptions,
    maximal=True,
    eliminates_constraints=True,
    variant_for=lambda *_: WITH_LOOPS,
)
