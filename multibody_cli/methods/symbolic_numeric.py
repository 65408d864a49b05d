"""Method `symbolic` with a numeric recursion: Method II of Si and Guenter.

The joint quantities at (q, v) are computed by code generated for the model (`codegen.kinematics`); the recursions over
bodies are those of `tree.link_axes`, for any model.  The kinematics of bodies are computed for output, and where forces
act on them, as in Method I.

Source: Si and Guenter (2011), Method II.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.kinematics import write_joints
from multibody_cli.codegen.source import compiled
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.kernel import kernel, records
from multibody_cli.methods.symbolic_generated import in_joint_axes, is_gravity_only
from multibody_cli.model import Floats, Integers, Model, Records
from multibody_cli.spatial.memory import store_force
from multibody_cli.symbolic.generated import call_on_arrays
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.link_axes import (
    COLUMN_WIDTH,
    JOINT,
    JOINT_WIDTH,
    bias_motion_pass,
    inward_impulse_pass,
    inward_pass,
    outward_pass,
    write_constant_inertias,
)
from multibody_cli.tree.workspace import COLUMN, Work, workspace_for


class Mixed(NamedTuple):
    """Work arrays of this method only: the address of its code, and the data that it reads and writes."""

    compute_joints: int
    joints: Records
    columns: Records  # S, in the axes of the joint frames
    joint_numbers: Floats  # the same records as plain numbers
    column_numbers: Floats
    table: Floats
    runs: Integers


def workspace(model: Model, options: Any) -> Work:
    """Generate and compile the code for a model, or load it from the cache, and allocate the work arrays."""
    system = model.system
    alone = is_gravity_only(system)
    code = compiled(write_joints(system.tree, model.joint_maps, alone))
    joints, columns = np.zeros(JOINT_WIDTH * len(system.tree.links)), np.zeros(COLUMN_WIDTH * model.nv)
    write_constant_inertias(system.tree, joints.view(JOINT))
    found = records(joints.view(JOINT)), records(columns.view(COLUMN)), joints, columns
    return workspace_for(system, Mixed(code.addresses[0], *found, code.table, code.runs), remembered=not alone)


@kernel
def compute_joints(own, q, v):
    """Compute the quantities of all joints."""
    call_on_arrays(own.compute_joints, (q, v, own.joint_numbers, own.column_numbers, own.table, own.runs))


# --- with forces on bodies -----------------------------------------------------------------------------------------
@kernel
def accelerate(system, work, a):
    """Compute dv/dt of every free coordinate into `a` (nv,); kinematics and forces are in `work`."""
    tree, own = system.tree, work.scratch
    compute_joints(own, work.q, work.q)
    for i in range(1, len(tree.links)):
        store_force(own.joints[i], in_joint_axes(work.bodies[i], work.bodies[i]))
    inward_pass(tree, own.joints, own.columns, work.child_inertias, work.tau, work.armature)
    solve_outward(system, work, a)


@kernel
def apply_inverse_mass(system, work, x, y):
    """Compute y = M^-1 (x + J^T w) (nv,) for the impulses w in work.wrenches; the bodies' dw, dv are J y.

    The factors are those of the last `accelerate`.  Prescribed coordinates of y are 0.
    """
    tree, own = system.tree, work.scratch
    for i in range(1, len(tree.links)):
        store_force(own.joints[i], -in_joint_axes(work.bodies[i], work.wrenches[i]))
    inward_impulse_pass(tree, own.joints, own.columns, work.child_inertias, x)
    for j in range(len(y)):
        y[j] = 0.0
    solve_outward(system, work, y)


@kernel
def solve_outward(system, work, y):
    """Compute the coordinates by the outward pass, and the motions of the bodies."""
    outward_pass(system.tree, work.scratch.joints, work.scratch.columns, y)
    write_ball_columns(system.tree, work)
    jacobian_times(system.tree, y, work)


# --- gravity only -------------------------------------------------------------------------------------------------
@kernel
def evaluate(system, work, t, q, v, a, powers):
    """Compute dv/dt at (t, q, v) into `a` (nv,), and the power (na,) of every energy account, W.

    The kinematics of the bodies are not computed.
    """
    tree, own = system.tree, work.scratch
    apply_forces(system.forces, t, q, v, work, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_joint_terms(system, work, t)
    compute_joints(own, q, v)
    bias_motion_pass(tree, own.joints, own.columns, v)
    inward_pass(tree, own.joints, own.columns, work.child_inertias, work.tau, work.armature)
    outward_pass(tree, own.joints, own.columns, a)
