"""Method `symbolic` with a generated recursion: Method I of Si and Guenter.

The recursions of articulated bodies are written as formulas for each kind of link, with constants, zeros and symmetries
folded (`codegen`).  If gravity is the only force on bodies, the code performs the whole evaluation, and the kinematics
of the bodies are computed only for output, at the end of an advance.  Otherwise kinematics and forces are computed as
in any method, and the code takes the bias wrenches of the bodies.

Source: Si and Guenter (2011), Method I, (18)-(35).
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.codegen.equations import memory_for, write_gravity_only, write_with_body_forces
from multibody_cli.codegen.source import GeneratedFunctions, compiled
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.model import Floats, Integers, Model, System
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import transposed_times
from multibody_cli.spatial.values import Force
from multibody_cli.symbolic.generated import call_on_arrays
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.workspace import Work, workspace_for


class Generated(NamedTuple):
    """Work arrays of this method only: addresses of its code, and the data that it reads and writes."""

    accelerate: int
    apply_inverse_mass: int
    bias: Floats  # (6 nb,) bias wrenches of the bodies, or impulses, in the axes of their joint frames
    table: Floats
    memory: Floats
    runs: Integers


def is_gravity_only(system: System) -> bool:
    """Return whether a system has no constraints, prescribed motions or forces on bodies, apart from gravity."""
    forces = system.forces
    has_forces = forces.acts_on_bodies or forces.reads_bodies or len(system.commands) + len(system.motions.rows) > 0
    return not (has_forces or system.is_constrained or system.implicit or system.coupled or system.contacts)


def workspace(model: Model, options: Any) -> Work:
    """Generate and compile the code for a model, or load it from the cache, and allocate the work arrays."""
    system = model.system
    tree, forces = system.tree, system.forces
    has_armature = tree.armature > 0.0  # implicit springs and dampers add armature too
    for coordinates in forces.sprung_coordinates:
        has_armature[coordinates] = True
    alone = is_gravity_only(system)
    written = _written(pickle.dumps((tree, has_armature)), alone, tuple(model.joint_maps.items()))
    code, memory = compiled(written), memory_for(written, tree.gravity)
    bias = np.zeros(0 if alone else 6 * len(tree.links))
    generated = Generated(code.addresses[0], code.addresses[-1], bias, code.table, memory, code.runs)
    return workspace_for(system, generated, remembered=not alone)


@lru_cache(maxsize=8)
def _written(content: bytes, alone: bool, joint_maps: tuple[tuple[int, JointMap], ...]) -> GeneratedFunctions:
    """Write the code for a pickled tree, once for runs that differ in their initial states or options."""
    tree, has_armature = pickle.loads(content)
    return (write_gravity_only if alone else write_with_body_forces)(tree, dict(joint_maps), has_armature)


# --- with forces on bodies -----------------------------------------------------------------------------------------
@kernel
def accelerate(system, work, a):
    """Compute dv/dt of every free coordinate into `a` (nv,); kinematics and forces are in `work`."""
    own = work.scratch
    rotate_wrenches(work.bodies, work.bodies, own.bias)
    apply_generated_code(system, work, own.accelerate, work.tau, a)


@kernel
def apply_inverse_mass(system, work, x, y):
    """Compute y = M^-1 (x + J^T w) (nv,) for the impulses w in work.wrenches; the bodies' dw, dv are J y.

    The factors are those of the last `accelerate`.  Prescribed coordinates of y are 0.
    """
    own = work.scratch
    rotate_wrenches(work.bodies, work.wrenches, own.bias)
    clear(y)
    apply_generated_code(system, work, own.apply_inverse_mass, x, y)


@kernel
def rotate_wrenches(bodies, wrenches, out):
    """Rotate wrenches into the axes of joint frames: out (6 nb,)."""
    for i in range(1, len(out) // 6):
        turned = in_joint_axes(bodies[i], wrenches[i])
        out[6 * i], out[6 * i + 1], out[6 * i + 2] = turned.t
        out[6 * i + 3], out[6 * i + 4], out[6 * i + 5] = turned.f


@formula
def in_joint_axes(body, wrench):
    """Return a wrench in the axes of the joint frame of its body."""
    R, p = load(body.R), load_force(wrench)
    return Force(transposed_times(R, p.t), transposed_times(R, p.f))


@kernel
def apply_generated_code(system, work, address, x, y):
    """Call the code, and compute the motions of the bodies from those of the coordinates."""
    own = work.scratch
    call_on_arrays(address, (work.q, x, x, work.armature, y, own.bias, own.table, own.memory, own.runs))
    write_ball_columns(system.tree, work)
    jacobian_times(system.tree, y, work)


# --- gravity only -------------------------------------------------------------------------------------------------
@kernel
def evaluate(system, work, t, q, v, a, powers):
    """Compute dv/dt at (t, q, v) into `a` (nv,), and the power (na,) of every energy account, W.

    The kinematics of the bodies are not computed.
    """
    own = work.scratch
    apply_forces(system.forces, t, q, v, work, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_joint_terms(system, work, t)
    call_on_arrays(own.accelerate, (q, v, work.tau, work.armature, a, own.bias, own.table, own.memory, own.runs))


@kernel
def update_work(system, work, state):
    """Compute the kinematics of a state, with its accelerations."""
    update_tree_kinematics(system, state.time[0], state.q, state.v, state.a, work)
    write_ball_columns(system.tree, work)
    jacobian_times(system.tree, state.a, work)
