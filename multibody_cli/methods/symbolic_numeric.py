"""Method `symbolic` with a numeric recursion: Method II of Si and Guenter.

The joint quantities at (q, v) are computed by code generated for the model (`codegen.kinematics`); the recursion over
bodies is that of `constraint_solver.constrained_bodies`, in world axes, for any model.  Where constraints, contacts or
forces act on bodies, the kinematics of all methods are needed besides, and the method is `aba`.

Source: Si and Guenter (2011), Method II.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.kinematics import COLUMN, COLUMN_WIDTH, JOINT, JOINT_WIDTH, write_joints
from multibody_cli.codegen.source import compiled
from multibody_cli.constraint_solver.constrained_bodies import accelerate
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.joints.parts.crossing import Crossing, step_across, write_column
from multibody_cli.kernel import kernel, records
from multibody_cli.methods.symbolic_generated import is_gravity_only
from multibody_cli.model import Floats, Integers, Model, Records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Motion
from multibody_cli.symbolic.generated import call_on_arrays
from multibody_cli.tree.kinematics import store_motion_and_inertia
from multibody_cli.tree.workspace import Work, workspace_for


class Mixed(NamedTuple):
    """Work arrays of this method only: the address of its code, and the data that it reads and writes."""

    compute_joints: int
    joints: Records
    columns: Records
    joint_numbers: Floats  # the same records as plain numbers
    column_numbers: Floats
    table: Floats
    runs: Integers


def workspace(model: Model, options: Any) -> Work:
    """Generate and compile the code for a model, or load it from the cache, and allocate the work arrays."""
    system = model.system
    if not is_gravity_only(system):
        return workspace_for(system)
    code = compiled(write_joints(system.tree, model.joint_maps))
    joints, columns = np.zeros(JOINT_WIDTH * len(system.tree.links)), np.zeros(COLUMN_WIDTH * model.nv)
    found = records(joints.view(JOINT)), records(columns.view(COLUMN)), joints, columns
    return workspace_for(system, Mixed(code.addresses[0], *found, code.table, code.runs))


@kernel
def evaluate(system, work, t, q, v, a, powers):
    """Compute dv/dt at (t, q, v) into `a` (nv,), and the power (na,) of every energy account, W."""
    own = work.scratch
    apply_forces(system.forces, t, q, v, work, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_joint_terms(system, work, t)
    call_on_arrays(own.compute_joints, (q, v, own.joint_numbers, own.column_numbers, own.table, own.runs))
    place_bodies(system.tree, own, v, work)
    accelerate(system, work, a)


@kernel
def place_bodies(tree, own, v, work):
    """Compute the kinematics of all bodies, and S in world axes, from the motions across the joints."""
    links, bodies, columns = tree.links, work.bodies, work.columns
    for i in range(1, len(links)):
        link, joint, parent, body = links[i], own.joints[i], bodies[links[i].parent], bodies[i]
        P = load(parent.R)
        R, twist = P @ load(joint.R), Motion(ZERO, ZERO)
        for j in range(link.iv, link.iv + link.nv):
            angular, linear = R @ load(own.columns[j].angular), R @ load(own.columns[j].linear)
            write_column(columns[j], angular, linear)
            twist = twist + v[j] * Motion(angular, linear)
        store(body.x, load(parent.x))
        store(body.r, ZERO)
        store(body.w, load(parent.w))
        store(body.v, load(parent.v))
        store(body.alpha, load(parent.alpha))
        store(body.a, load(parent.a))
        bias = Motion(R @ load(joint.bias_w), R @ load(joint.bias_v))
        step_across(body, Crossing(R, P @ load(joint.p), twist, bias))
        store_motion_and_inertia(link, body, R, load(body.w), load(body.alpha), load(body.a))
