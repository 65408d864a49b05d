"""Inverse dynamics: the forces on coordinates that give them commanded accelerations.

With the accelerations a of all free coordinates, one outward and one inward pass (Newton and Euler) compute the wrench
W of each joint, and tau = S . W + armature a, of which the other forces on the coordinate are subtracted.  Gravity, the
applied wrenches and prescribed motions are included; constraint rows and contacts are not.

Source: Featherstone, Rigid body dynamics algorithms (2008), 5.3; Siciliano et al. (2009), 8.5.2.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.signals import evaluate
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches


@kernel
def add_computed_torques(system, work, t, v, powers):
    """Add the forces for the commanded accelerations to `work.tau` (nv,), and their powers to the accounts.

    Kinematics and all other forces are in `work`.
    """
    if len(system.commands) == 0:
        return
    tree, commands, a = system.tree, system.commands, work.response
    clear(a)
    for k in range(len(commands)):
        acceleration, _, _ = evaluate(system.forces.signals, commands[k].signal, t)
        a[commands[k].iv] = acceleration
    write_ball_columns(tree, work)
    jacobian_times(tree, a, work)
    compute_joint_wrenches(tree, work)
    for k in range(len(commands)):
        iv, column = commands[k].iv, work.columns[commands[k].iv]
        S = Motion(load(column.angular), load(column.linear))
        force = power(S, load_force(work.wrenches[commands[k].row])) + tree.armature[iv] * a[iv] - work.tau[iv]
        work.tau[iv] += force
        work.command_forces[k] = force
        powers[commands[k].account] += force * v[iv]
