"""Method `gauss`: forward dynamics with a full mass matrix and Gaussian elimination, M dv/dt = f, O(n^3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import kernel, records
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.methods.by_acceleration import AccelerationKind, MethodKernels
from multibody_cli.model import Floats, Integers, Model, Records
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, jacobian_times, write_ball_columns
from multibody_cli.tree.mass_matrix import COMPOSITE, DofPaths, dof_paths_of, fill_mass_matrix
from multibody_cli.tree.workspace import Work, workspace_for


class Full(NamedTuple):
    """Work arrays of this method only."""

    paths: DofPaths
    M: Floats  # along the paths of the coordinates
    composites: Records
    A: Floats  # (nv, nv) the same as a full matrix, then its factors
    order: Integers
    f: Floats


def workspace(model: Model, options: Any) -> Work:
    """Allocate the work arrays."""
    paths, nv = dof_paths_of(model.system.tree), len(model.system.tree.driven)
    composites = records(np.zeros(len(model.system.tree.links), COMPOSITE))
    full = Full(paths, np.zeros(paths.path.shape), composites, np.zeros((nv, nv)), np.zeros(nv, np.int64), np.zeros(nv))
    return workspace_for(model.system, full)


@kernel
def accelerate(system, work, a):
    """Compute dv/dt of every free coordinate under work.tau (nv,) into `a`."""
    tree, full = system.tree, work.scratch
    write_ball_columns(tree, work)
    for j in range(len(a)):
        if full.paths.depth[j] >= 0:
            a[j] = work.tau[j]
    fill_mass_matrix(tree, work, full.paths, full.composites, full.M)
    for i in range(len(tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    add_jacobian_transposed_times(tree, work, a)
    expand(full.paths, full.M, full.A)
    factor_dense(full.A, full.order)
    for j in range(len(a)):
        full.f[j] = a[j]
    solve_dense(full.A, full.order, full.f, a)
    jacobian_times(tree, a, work)


@kernel
def expand(paths, M, A):
    """Write M as a full matrix; the identity for prescribed coordinates."""
    for i in range(len(A)):
        for j in range(len(A)):
            A[i, j] = 1.0 if i == j else 0.0
    for j in range(len(A)):
        for d in range(paths.depth[j] + 1):
            A[j, paths.path[j, d]] = M[j, d]
            A[paths.path[j, d], j] = M[j, d]


@kernel
def apply_inverse_mass(system, work, x, y):
    """Compute y = M^-1 (x + J^T w) (nv,) for the impulses w in work.wrenches."""
    full = work.scratch
    for j in range(len(y)):
        full.f[j] = x[j] if full.paths.depth[j] >= 0 else 0.0
    add_jacobian_transposed_times(system.tree, work, full.f)
    solve_dense(full.A, full.order, full.f, y)
    jacobian_times(system.tree, y, work)


GAUSS = AccelerationKind(
    name="gauss",
    description="reduced coordinates with a full mass matrix, O(n^3)",
    kernels=MethodKernels(accelerate, apply_inverse_mass, workspace),
    supports=frozenset(),
)
