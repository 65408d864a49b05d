"""Method `symbolic` with its recursion generated: Method I of Si and Guenter.

The recursions of articulated bodies are written out as formulas for each kind of link, with its constants, zeros and
symmetries folded (`codegen`).  Where nothing pushes bodies but gravity, the code does all of an
evaluation, and bodies are placed only where someone looks, at the end of an advance.  Elsewhere bodies are placed and
pushed as with any method, and the code takes their bias wrenches.

Source: Si and Guenter (2011), Method I, (18)-(35).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.equations import memory_for, write_free, write_placed
from multibody_cli.codegen.source import compiled
from multibody_cli.forces.elements import push_all
from multibody_cli.implicit.implicit_forces import foresee_joints
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, Model, System
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import transposed_times
from multibody_cli.spatial.values import Force
from multibody_cli.symbolic.generated import call_on_whole
from multibody_cli.tree.jacobian import complete_columns, jacobian_times
from multibody_cli.tree.kinematics import place_tree
from multibody_cli.tree.workspace import Work, workspace_for


class Generated(NamedTuple):
    """Work arrays of this method alone: addresses of its code, and what that reads and writes."""

    accelerate: int
    respond: int
    bias: Floats  # (6 nb,) bias wrenches of placed bodies, or impulses, in the axes of their joint frames
    table: Floats
    memory: Floats
    runs: Integers


def is_left_alone(system: System) -> bool:
    """Whether nothing restrains a system, prescribes its motion or pushes its bodies, apart from gravity."""
    forces = system.forces
    pushed = forces.resist or len(forces.loads) > 0 or len(system.motions.rows) > 0
    return not (pushed or system.is_held or system.implicit or system.contacts)


def workspace(model: Model, options: Any) -> Work:
    """Write and compile the code for a model, or find it compiled, and allocate what it needs."""
    system = model.system
    tree, forces = system.tree, system.forces
    armed = np.zeros(model.nv, np.bool_)  # springs and dampers can be inertia, as they will push
    for springs, width in ((forces.joint_springs, 1), (forces.rotation_springs, 3)):
        for iv in springs["iv"]:
            armed[iv : iv + width] = True
    alone = is_left_alone(system)
    written = (write_free if alone else write_placed)(tree, model.shapes, armed)
    code, memory = compiled(written), memory_for(written, tree.gravity)
    bias = np.zeros(0 if alone else 6 * len(tree.links))
    generated = Generated(code.addresses[0], code.addresses[-1], bias, code.table, memory, code.runs)
    return workspace_for(system, generated, remembered=not alone)


# --- bodies that were placed and pushed ---------------------------------------------------------------------------
@kernel
def accelerate(system, work, a):
    """dv/dt of every free coordinate into `a` (nv,); the bodies were placed and pushed before."""
    own = work.scratch
    lay_down(work.bodies, work.bodies, own.bias)
    answer(system, work, own.accelerate, work.tau, a)


@kernel
def respond(system, work, x, y):
    """y = M^-1 (x + J^T w) (nv,) for the impulses w that lie in work.wrenches; the bodies' dw, dv get J y.

    By the factors of the last `accelerate`.  Prescribed coordinates of y are 0.
    """
    own = work.scratch
    lay_down(work.bodies, work.wrenches, own.bias)
    for j in range(len(y)):
        y[j] = 0.0
    answer(system, work, own.respond, x, y)


@kernel
def lay_down(bodies, wrenches, out):
    """Turn wrenches into the axes of joint frames: out (6 nb,)."""
    for i in range(1, len(out) // 6):
        turned = in_joint_axes(bodies[i], wrenches[i])
        out[6 * i], out[6 * i + 1], out[6 * i + 2] = turned.t
        out[6 * i + 3], out[6 * i + 4], out[6 * i + 5] = turned.f


@formula
def in_joint_axes(body, wrench):
    """A wrench in the axes of the joint frame of its body."""
    R, p = load(body.R), load_force(wrench)
    return Force(transposed_times(R, p.t), transposed_times(R, p.f))


@kernel
def answer(system, work, address, x, y):
    """Call the code, and give the bodies the motion that it finds for the coordinates."""
    own = work.scratch
    call_on_whole(address, (work.q, x, x, work.armature, y, own.bias, own.table, own.memory, own.runs))
    complete_columns(system.tree, work)
    jacobian_times(system.tree, y, work)


# --- bodies that are left alone -----------------------------------------------------------------------------------
@kernel
def evaluate(system, work, t, q, v, a, powers):
    """dv/dt at (t, q, v) into `a` (nv,), and the power (na,) of every account, W; no body is placed."""
    own = work.scratch
    push_all(system.forces, t, q, v, work, powers)
    if work.horizon[0] > 0.0:
        foresee_joints(system, work, t)
    call_on_whole(own.accelerate, (q, v, work.tau, work.armature, a, own.bias, own.table, own.memory, own.runs))


@kernel
def settle(system, work, t, q, v, a):
    """Place the bodies of a state, and give them its accelerations."""
    place_tree(system, t, q, v, a, work)
    complete_columns(system.tree, work)
    jacobian_times(system.tree, a, work)
