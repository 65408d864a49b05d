"""Output quantities of one instant: evaluated from a state and stored in a row of `Samples`."""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import loop_closure_error_norm
from multibody_cli.forces import muscle, spring
from multibody_cli.forces.elements import MUSCLES, SPRINGS, elastic_energy
from multibody_cli.kernel import formula, kernel
from multibody_cli.observation.moment_arms import compute_moment_arms
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, transposed_times
from multibody_cli.spatial.rotations import quaternion_of_rotation, vector_of_quaternion
from multibody_cli.tree.affine import angular_velocity_of, director_rates_of, directors_of, polar_rotation
from multibody_cli.tree.configuration import read_quaternion
from multibody_cli.tree.energy import gravity_energy, kinetic_energy, momentum
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches


@kernel
def observe(system, state, work, body_rows, joint_rows, samples, k):
    """Fill row k of `samples` from a state and the bodies that were placed and accelerated at it.

    `body_rows` (nb,) and `joint_rows` (nj,) are the rows of the bodies, and of the bodies or loop frames of joints.
    """
    tree = system.tree
    samples.time[k] = state.time[0]
    report_coordinates(tree, state.q, samples.coordinates[k])
    for j in range(len(state.v)):
        samples.velocity[k, j] = state.v[j]
        samples.acceleration[k, j] = state.a[j]
    for j in range(len(state.ledger)):
        samples.accounts[k, j] = state.ledger[j]
    observe_bodies(tree, work.bodies, body_rows, samples, k)
    compute_joint_wrenches(tree, work)
    for j in range(len(joint_rows)):
        row = joint_rows[j]
        R = load(work.bodies[row].R)
        store(samples.reaction[k, j, :3], transposed_times(R, load(work.wrenches[row].t)))
        store(samples.reaction[k, j, 3:], transposed_times(R, load(work.wrenches[row].f)))
        samples.constraint_error[k, j] = loop_closure_error_norm(work.bodies[row]) if row >= len(tree.links) else 0.0
    first = len(tree.constraint_axes)
    for r in range(first, len(work.rows)):
        samples.multiplier[k, r - first] = work.rows[r].multiplier
        samples.row_error[k, r - first] = work.rows[r].error
    samples.kinetic[k] = kinetic_energy(tree, work.bodies)
    samples.potential[k] = gravity_energy(tree, work.bodies)
    samples.elastic[k] = elastic_energy(system.forces, state.q, work.bodies)
    spring.observe(
        system.forces.tables[SPRINGS],
        system.forces.points,
        work.bodies,
        samples.spring_length[k],
        samples.spring_force[k],
    )
    muscle.observe(
        system.forces.tables[MUSCLES],
        system.forces.points,
        system.forces.signals,
        state.time[0],
        work.bodies,
        samples.muscle_length[k],
        samples.muscle_velocity[k],
        samples.muscle_force[k],
        samples.activation[k],
    )
    compute_moment_arms(system, work, samples.moment_arm[k])
    linear, angular = momentum(tree, work.bodies)
    store(samples.linear_momentum[k], linear)
    store(samples.angular_momentum[k], angular)


@kernel
def observe_bodies(tree, bodies, body_rows, samples, k):
    """Store pose and twist of each body frame, in the world frame."""
    affine = 0
    for i in range(len(body_rows)):
        row = body_rows[i]
        if row + 1 < len(tree.links) and tree.links[row + 1].ignores_gravity:
            observe_affine(tree.frames[row], bodies, row, samples, k, i, affine)
            affine += 1
            continue
        body, frame = bodies[row], tree.frames[row]
        R, w = load(body.R), load(body.w)
        r = R @ load(frame.origin)
        store(samples.position[k, i], load(body.x) + r)
        store(samples.linear_velocity[k, i], load(body.v) + cross(w, r))
        store(samples.angular_velocity[k, i], w)
        store_quaternion(samples.quaternion[k, i], R @ load(frame.frame))


@kernel
def observe_affine(frame, bodies, row, samples, k, i, affine):
    """Store pose and twist of the rotational part of an affine body (polar decomposition), and its deformation."""
    E = load(frame.frame)  # transposed: the body frame seen from the principal axes
    D, rate = directors_of(bodies, row), director_rates_of(bodies, row)
    R = polar_rotation(D)
    store(samples.position[k, i], load(bodies[row].x))
    store(samples.linear_velocity[k, i], load(bodies[row].v))
    store(samples.angular_velocity[k, i], angular_velocity_of(R, D, rate))
    store_quaternion(samples.quaternion[k, i], R @ E)
    A, entries = D @ E, samples.deformation[k, affine]
    for j in range(3):
        column = A.x if j == 0 else (A.y if j == 1 else A.z)
        entries[j] = column.x
        entries[3 + j] = column.y
        entries[6 + j] = column.z


@formula
def store_quaternion(numbers, R):
    """Store the quaternion (w, x, y, z) of a rotation."""
    x = quaternion_of_rotation(R)
    for j in range(4):
        numbers[j] = x[j]


@kernel
def report_coordinates(tree, q, out):
    """Store the reported coordinates (nv,): q, with rotation vectors instead of quaternions."""
    plain, quaternions = tree.plain, tree.quaternions
    for k in range(len(plain)):
        out[plain[k].iv] = q[plain[k].iq]
    for k in range(len(quaternions)):
        w, u = read_quaternion(q, quaternions[k].iq)
        write_vector(out, quaternions[k].iv, vector_of_quaternion(w, u))


@formula
def write_vector(out, i, a):
    """Store a vector at index i."""
    out[i] = a.x
    out[i + 1] = a.y
    out[i + 2] = a.z
