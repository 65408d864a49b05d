"""The state: time, reported coordinates, velocities and energy accounts."""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.rotations import vector_of_quaternion
from multibody_cli.tree.configuration import read_quaternion


@kernel
def observe(system, state, work, rows, samples, k):
    """Store the state, with rotation vectors instead of quaternions."""
    samples.time[k] = state.time[0]
    report_coordinates(system.tree, state.q, samples.coordinates[k])
    for j in range(len(state.v)):
        samples.velocity[k, j] = state.v[j]
    for j in range(len(state.ledger)):
        samples.accounts[k, j] = state.ledger[j]


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
