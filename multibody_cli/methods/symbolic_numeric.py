"""Method `symbolic` with its recursion done with numbers: Method II of Si and Guenter.

What joints are at q and v is generated for the model (`codegen.kinematics`); the recursions over bodies are
those of `tree.link_axes`, for any model.  Bodies are placed where someone looks, and where anything pushes them, as
with Method I.

Source: Si and Guenter (2011), Method II.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.kinematics import write_joints
from multibody_cli.codegen.source import compiled
from multibody_cli.forces.elements import push_all
from multibody_cli.implicit.implicit_forces import foresee_joints
from multibody_cli.kernel import kernel, records
from multibody_cli.methods.symbolic_generated import in_joint_axes, is_left_alone
from multibody_cli.model import Floats, Integers, Model, Records
from multibody_cli.spatial.memory import store_force
from multibody_cli.symbolic.generated import call_on_whole
from multibody_cli.tree.jacobian import complete_columns, jacobian_times
from multibody_cli.tree.link_axes import (
    COLUMN_WIDTH,
    JOINT,
    JOINT_WIDTH,
    gather,
    gather_impulses,
    inertias_in,
    move_all,
    respond_all,
)
from multibody_cli.tree.workspace import COLUMN, Work, workspace_for


class Mixed(NamedTuple):
    """Work arrays of this method alone: the address of its code, and what that reads and writes."""

    find_joints: int
    joints: Records
    columns: Records  # S, in the axes of the joint frames
    joint_numbers: Floats  # the same records as plain numbers
    column_numbers: Floats
    table: Floats
    runs: Integers


def workspace(model: Model, options: Any) -> Work:
    """Write and compile the code for a model, or find it compiled, and allocate what it needs."""
    system = model.system
    alone = is_left_alone(system)
    code = compiled(write_joints(system.tree, model.shapes, alone))
    joints, columns = np.zeros(JOINT_WIDTH * len(system.tree.links)), np.zeros(COLUMN_WIDTH * model.nv)
    inertias_in(system.tree, joints.view(JOINT))
    found = records(joints.view(JOINT)), records(columns.view(COLUMN)), joints, columns
    return workspace_for(system, Mixed(code.addresses[0], *found, code.table, code.runs), remembered=not alone)


@kernel
def find_joints(own, q, v):
    """Find what all joints are."""
    call_on_whole(own.find_joints, (q, v, own.joint_numbers, own.column_numbers, own.table, own.runs))


# --- bodies that were placed and pushed ---------------------------------------------------------------------------
@kernel
def accelerate(system, work, a):
    """dv/dt of every free coordinate into `a` (nv,); the bodies were placed and pushed before."""
    tree, own = system.tree, work.scratch
    find_joints(own, work.q, work.q)
    for i in range(1, len(tree.links)):
        store_force(own.joints[i], in_joint_axes(work.bodies[i], work.bodies[i]))
    gather(tree, own.joints, own.columns, work.inboxes, work.tau, work.armature)
    answer(system, work, a)


@kernel
def respond(system, work, x, y):
    """y = M^-1 (x + J^T w) (nv,) for the impulses w that lie in work.wrenches; the bodies' dw, dv get J y.

    By the factors of the last `accelerate`.  Prescribed coordinates of y are 0.
    """
    tree, own = system.tree, work.scratch
    for i in range(1, len(tree.links)):
        store_force(own.joints[i], -in_joint_axes(work.bodies[i], work.wrenches[i]))
    gather_impulses(tree, own.joints, own.columns, work.inboxes, x)
    for j in range(len(y)):
        y[j] = 0.0
    answer(system, work, y)


@kernel
def answer(system, work, y):
    """Find the answer of the coordinates to what was gathered, and give the bodies the motion that it is."""
    respond_all(system.tree, work.scratch.joints, work.scratch.columns, y)
    complete_columns(system.tree, work)
    jacobian_times(system.tree, y, work)


# --- bodies that are left alone -----------------------------------------------------------------------------------
@kernel
def evaluate(system, work, t, q, v, a, powers):
    """dv/dt at (t, q, v) into `a` (nv,), and the power (na,) of every account, W; no body is placed."""
    tree, own = system.tree, work.scratch
    push_all(system.forces, t, q, v, work, powers)
    if work.horizon[0] > 0.0:
        foresee_joints(system, work, t)
    find_joints(own, q, v)
    move_all(tree, own.joints, own.columns, v)
    gather(tree, own.joints, own.columns, work.inboxes, work.tau, work.armature)
    respond_all(tree, own.joints, own.columns, a)
