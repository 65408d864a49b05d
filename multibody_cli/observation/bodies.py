"""Poses and velocities of the bodies."""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross
from multibody_cli.spatial.rotations import quaternion_of_rotation
from multibody_cli.tree.affine import angular_velocity_of, director_rates_of, directors_of, polar_rotation


@kernel
def observe(system, state, work, rows, samples, k):
    """Store pose and twist of each body frame, in the world frame, and the deformation of affine bodies."""
    tree, bodies, affine = system.tree, work.bodies, 0
    for i in range(len(rows.bodies)):
        row = rows.bodies[i]
        if row + 1 < len(tree.links) and tree.links[row + 1].is_director:
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


@lazy_kernel
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
