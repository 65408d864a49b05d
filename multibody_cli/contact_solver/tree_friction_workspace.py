"""Work arrays of the friction of trees (`tree_friction`), and the records of one pass (`friction_elimination`)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.contact_solver.edges import Edges
from multibody_cli.contact_solver.elimination_workspace import TreeOfBodies, is_supported, tree_of_bodies_for
from multibody_cli.contact_solver.friction.anderson import Iterations, iterations_for
from multibody_cli.kernel import allocate, formula, kernel, records
from multibody_cli.kkt.nodes import CELL, Cells, cells_for
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import no_force
from multibody_cli.spatial.products import transposed as transposed_matrix
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, full
from multibody_cli.spatial.values import Force, Vec3
from multibody_cli.tree.articulated_body import load_inertia as load_block
from multibody_cli.tree.workspace import CHILD_INERTIA, WRENCH

MIN_PIVOT = 1e-6
"""Smallest D of a sliding joint, relative to its value without friction: below it, the joint jams."""

STICKS = 0

JAMS, JAMMED = 1, 2
"""A joint jams in this pass, or has jammed in an earlier pass of this solution and has not stuck since."""

ARTICULATED_INERTIA = np.dtype(
    [("J", "f8", 9), ("H", "f8", 9), ("K", "f8", 9), ("M", "f8", 9), ("t", "f8", 3), ("f", "f8", 3)]
)
"""Articulated inertia and bias impulse of a body."""

ELIMINATED_COLUMN = np.dtype(
    [
        ("Vt", "f8", 3),  # V = A^T (S - sigma g); of a joint with discs, Y = D^-1 V
        ("Vf", "f8", 3),
        ("dinv", "f8"),  # 1 / D
        ("u", "f8"),  # sigma g . h F - (S - sigma g) . p; of a sticking joint, its change of rate; D^-1 u with discs
    ]
)
"""One eliminated coordinate."""


JOINT = np.dtype([("iv", "i8"), ("nv", "i8")])
"""Coordinates of a joint."""


class BodyCoupling(NamedTuple):
    """Work arrays of implicit forces between n bodies (`tree_motion`); empty without implicit forces."""

    blocks: Annotated[Records, "n", CHILD_INERTIA]  # diagonal blocks of the implicit forces
    impulses: Annotated[Records, "n", WRENCH]  # r
    moment: Annotated[Floats, "n"]  # scale of the moments on a body
    force: Annotated[Floats, "n"]  # scale of the forces
    gap: Cells  # change of r in an iteration, divided by the scales
    x: Cells  # the new r, divided by the scales
    iterations: Iterations


class TreeFriction(NamedTuple):
    """Work arrays for n bodies, m coordinates and p friction patches.

    A *disc* is a patch with two slip directions.
    """

    coupling: BodyCoupling
    bodies: TreeOfBodies
    edges: Edges
    satisfied_by_tree: Integers  # (rows,) whether a pass satisfies a constraint row: those of joints
    joints: Records  # (p,) coordinates of the joint of a patch
    patch: Integers  # (m,) patch whose slip velocity is in proportion to the rate of a coordinate, -1 for none
    coordinate: Integers  # (p,) that coordinate; the first of the joint of a disc
    discs: Integers  # (n,) first patch of a joint with discs between a body and its parent, -1 for none
    base: Integers  # (n,) a body that all bodies have in common to which joints connect a body apart from the ground
    round_off: Annotated[Floats, 1]  # slip velocity that counts as 0 in loops; 0 in trees
    inertias: Annotated[Records, "n", ARTICULATED_INERTIA]
    columns: Annotated[Records, "m", ELIMINATED_COLUMN]
    state: Annotated[Integers, "p"]  # sign of the slip along `direction`, or STICKS
    kept_state: Annotated[Integers, "p"]  # `state`, while contacts that stop are examined
    w: Annotated[Floats, "p"]  # response of a patch, if its body were free from others
    jams: Annotated[Integers, "p"]  # JAMS or JAMMED if D of a joint that slides is or was not positive, else 0
    time: Floats  # (1,) start of the last step, s
    repeats: Annotated[Integers, 1]  # whether this step is solved again: variational steps iterate
    soft: Annotated[
        Integers, 1
    ]  # whether patches that stick have compliance: beside edges, and where loops are redundant
    kept: Annotated[Integers, 1]  # whether no state has changed since the last sweep (`staggered_tree_friction`)
    direction: Floats  # (p, 2) unit vector; (1, 0) if there is one slip direction
    earlier: Annotated[Floats, "p", 3]  # slip velocity, friction and limit that the last step began with
    steady: Annotated[Integers, 1]  # whether the impulses of edges in the last solution were those before it
    speed: Annotated[Floats, "p"]  # speed of the slip along the direction of a disc that slides; 0 if it is not known
    drag: Annotated[Floats, "p", 2, 2]  # K of a disc that slides
    weight: Annotated[Floats, "p"]  # weights of the shares of a torque (`distribute_torque`)
    slip_inertia: Annotated[Floats, "p", 3]  # inertia of a disc against slip: along, product, across
    signs: Floats  # (loads,) signs of the loads
    shared: Annotated[
        Integers, "p"
    ]  # the state for which `share` and `matrix` are those of the present signs, or STICKS
    share: Annotated[Floats, "p", 6]  # g, in the joint frame
    inverse: Annotated[Floats, "p", 6, 6]  # of 1 - s mu sum w C^T
    reaction: Annotated[Floats, "p", 6]  # W
    friction: Annotated[Floats, "p", 2]  # x
    slip: Annotated[Floats, "p", 2]  # slip velocities after the step
    applied: Annotated[Floats, "p", 2]  # part of x that depends neither on the loads nor on the slip
    start: Annotated[Floats, "p", 2]  # x before a Newton step
    gradient: Annotated[Floats, "p", 2]  # slip velocities before it
    limit: Annotated[Floats, "p"]  # given limits (`staggered_tree_friction`, as all that follow)
    free_slip: Annotated[Floats, "p", 2]  # slip velocities without friction
    target: Annotated[Floats, "p", 2]  # x after it, without limits
    normal_load: Annotated[Floats, "points"]  # normal loads of the last sweep
    largest_load: Annotated[Floats, "n"]  # largest sum of loads in a branch, by its first body


def first_coordinates(system: System) -> Integers:
    """Return the coordinate of each patch (p,) with one slip direction, the first of its joint otherwise."""
    first: Integers = joints_of_patches(system)["iv"] + system.contacts.joint_friction.patches["coordinate"]
    return first


def joints_of_patches(system: System) -> Records:
    """Return the coordinates of the joint of each patch (p,)."""
    tree, rows = system.tree, system.contacts.joint_friction.patches["row"]
    joints = np.zeros(len(rows), JOINT)
    for p, row in enumerate(rows):
        joint = tree.links[row] if row < len(tree.links) else tree.closures[row - len(tree.links)]
        joints[p] = joint["iv"], joint["nv"]
    return records(joints)


def tree_friction_for(system: System, rows: Records, terms: Records, edges: int) -> TreeFriction:
    """Allocate the work arrays, for so many edges; `rows` and `terms` are those of the step."""
    tree, table = system.tree, system.contacts.joint_friction
    n, p = len(tree.links), len(table.patches)
    patch, discs, base, coordinate = (
        np.full(len(tree.driven), -1),
        np.full(n, -1),
        np.arange(n),
        first_coordinates(system),
    )
    for k, record in enumerate(table.patches):
        if record["slip_directions"] == 1:
            patch[coordinate[k]] = k
        else:
            discs[record["child"]] = record["first_patch"]
    for i, joint in enumerate(tree.inboard_joints if len(tree.inboard_joints) == n else tree.links):
        if joint["parent"] > 0:
            base[i] = base[joint["parent"]]
    satisfied = np.zeros(len(system.rows), np.int64)
    for closure in tree.closures if is_supported(system) else ():
        satisfied[closure["first_row"] : closure["last_row"]] = 1
        one, other = base[closure["parent"]], base[closure["child"]]
        if closure["parent"] > 0:
            base[base == one] = other
    coupled = n if system.implicit else 0
    gap, x, iterations = cells_for(coupled), cells_for(coupled), iterations_for(CELL * coupled)
    bodies = tree_of_bodies_for(system, edges > 0)
    return allocate(
        TreeFriction,
        n=n,
        p=p,
        m=len(tree.driven),
        points=len(table.points),
        coupling=allocate(BodyCoupling, n=coupled, gap=gap, x=x, iterations=iterations),
        bodies=bodies,
        edges=allocate(Edges, rows=rows, terms=terms, e=edges, n=n, m=len(tree.driven), p=bodies.max_pairs[0]),
        satisfied_by_tree=satisfied,
        joints=joints_of_patches(system),
        patch=patch,
        coordinate=coordinate,
        discs=discs,
        base=base,
        time=np.full(1, np.nan),
        direction=np.tile([1.0, 0.0], (p, 1)),
        signs=np.ones(len(table.loads)),
    )


@formula
def determines_rate(p, passes):
    """Return whether a patch that sticks determines the rate of its joint, without compliance."""
    return passes.state[p] == STICKS and not passes.soft[0]


@formula
def clear_share(p, passes):
    """Set g of a patch to 0."""
    passes.shared[p] = STICKS
    store_vector(passes.share[p], no_force())


@formula
def jams_with(D, free, passes):
    """Return whether a sliding joint jams, with D and its value without its own friction.

    The latter is negative where joints beyond jam: then both are.  The states of a sweep that nothing contradicts are
    those of a solution for any sign of D, which is not that of a joint alone; and so are those beside edges, whose
    passes end at a residual of all laws.
    """
    size = abs(D) if passes.kept[0] else D if free > 0.0 else -D
    return not (size > MIN_PIVOT * abs(free) or (passes.soft[0] and abs(D) > 0.0))


@kernel
def jam(k, passes):
    """Let a joint that jams slide without friction in this pass; let it stick if it jams in a later pass again.

    Its friction less its limit is a concave function of the friction.  Where the joint does not stick, that function
    has a zero, and Newton's method converges to it from below, with the signs of the loads without friction.
    """
    if passes.jams[k]:
        passes.state[k], passes.jams[k] = STICKS, 0
    else:
        passes.jams[k] = JAMS
        clear_share(k, passes)
        passes.applied[k, 0] = passes.applied[k, 1] = 0.0
        for i in range(2):
            passes.drag[k, i, 0] = passes.drag[k, i, 1] = 0.0


# --- records ----------------------------------------------------------------------------------------------------------
@formula
def store_vector(vector, W):
    """Store a Force in a vector (6,)."""
    vector[0], vector[1], vector[2] = W.t.x, W.t.y, W.t.z
    vector[3], vector[4], vector[5] = W.f.x, W.f.y, W.f.z


@formula
def load_vector(vector):
    """Return the Force in a vector (6,)."""
    return Force(Vec3(vector[0], vector[1], vector[2]), Vec3(vector[3], vector[4], vector[5]))


@formula
def load_inertia(record):
    """Return the inertia in a record."""
    return UnsymmetricInertia(load(record.J), load(record.H), load(record.K), load(record.M))


@formula
def store_own_inertia(record, A, passes, i):
    """Store the inertia A of body i alone and its bias impulse, with those of implicit forces."""
    p = no_force()
    if len(passes.coupling.blocks) > 0:
        A, p = A + load_block(passes.coupling.blocks[i]), -load_force(passes.coupling.impulses[i])
    own, H = UnsymmetricInertia(full(A.J), A.H, transposed_matrix(A.H), full(A.M)), A.H
    if passes.edges.number[0] > 0:
        penalty = passes.edges.of_body[i]
        B = load_inertia(penalty)
        own, p = UnsymmetricInertia(own.J + B.J, H + B.H, own.K + B.K, own.M + B.M), p - load_force(penalty)
    store_inertia(record, own)
    store_force(record, p)


@formula
def store_inertia(record, A):
    """Store an inertia in a record."""
    store(record.J, A.J)
    store(record.H, A.H)
    store(record.K, A.K)
    store(record.M, A.M)
