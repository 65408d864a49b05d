"""Method `redmax`: forward and hybrid dynamics in reduced coordinates with a dense mass matrix, M_r dv/dt = f_r.

Each evaluation computes the kinematics, applies the forces, forms M_r and f_r, and factors M_r = L^T D L along the
branches of the tree (`tree.mass_matrix`).  There are two ways to form them:

    composite    M_r by composite rigid bodies, f_r by one inward pass of wrenches: O(n^2) for a chain, less for a tree
    jacobian     M_r = J^T M J and f_r = tau + J^T (f - M dJ/dt v) with whole matrices J and dJ/dt, as the notes write
                 them: O(n^3)

The factorization takes n^3 / 6 multiplications for a chain.

Cost of an evaluation by composites, for a chain of hinges: as much as `aba` for 5, about 2.5 us for 20, where `aba`
takes 1.8, and 38 us for 100.

Sources: Sueda, notes 2.1 to 2.5 and 2.10, Alg. 2, 5 and 6 (2.6 is `constraints.reduction`); Featherstone, Rigid Body
Dynamics Algorithms, chapter 6.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from multibody_cli.implicit.dense_matrix import correct_dense, fill_dense
from multibody_cli.implicit.implicit_forces import Implicit
from multibody_cli.implicit.symmetrized_stiffness import (
    add_joint_terms,
    add_stiffness_forces,
    fill_stiffness,
    fill_symmetrized,
)
from multibody_cli.kernel import allocate, kernel
from multibody_cli.linalg.dense_lu import factor_dense
from multibody_cli.methods.by_acceleration import AccelerationKind, MethodKernels
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.options import StabilizationOptions
from multibody_cli.methods.row_elimination import has_elimination, with_elimination
from multibody_cli.model import Floats, Integers, Model, Records, System
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.jacobian import (
    add_jacobian_transposed_times,
    fill_jacobians,
    jacobian_times,
    write_ball_columns,
)
from multibody_cli.tree.mass_matrix import (
    COMPOSITE,
    DofPaths,
    dof_paths_of,
    factor,
    fill_mass_matrix,
    solve,
)
from multibody_cli.tree.projection import project_forces, project_inertia
from multibody_cli.tree.workspace import Work, workspace_for


class RedmaxOptions(StabilizationOptions):
    """Options: how the mass matrix is formed, and the stabilization of constraints."""

    mass_matrix: Literal["composite", "jacobian"] = Field(
        "composite",
        description="Mass matrix by composite rigid bodies, or from the full Jacobian (slower, for checks).",
    )
    implicit_stiffness: Literal["semidefinite", "symmetrized"] = Field(
        "semidefinite",
        description="Stiffness of springs between bodies in `linearly_implicit_euler`. `semidefinite`: without the "
        "terms that may destabilize; `symmetrized`: (K + K^T)/2 of the whole derivative in axes of the bodies, as in "
        "Sueda's notes, (1.37), with dampers at the twists J v' of the bodies.",
    )


class Dense(NamedTuple):
    """Work arrays of this method only."""

    paths: DofPaths
    M: Annotated[Floats, "nv", "longest"]  # mass matrix, then its factors, along the paths of the coordinates
    composites: Annotated[Records, "nl", COMPOSITE]
    J: Annotated[Floats, "nj", "nv"]  # nj = 6 nb, or 0 where M is formed by composites
    dJ: Annotated[Floats, "nj", "nv"]
    A: Annotated[Floats, "ni", "ni"]  # with implicit forces, then its factors; ni = nv, or 0 without
    order: Annotated[Integers, "ni"]  # of its rows
    K: Annotated[Floats, "ns", "ns"]  # stiffness of springs, where it is symmetrized; ns = ni, or 0


def workspace(model: Model, options: RedmaxOptions) -> Work:
    """Allocate the work arrays, with the mass matrix and, for `mass_matrix: jacobian`, the Jacobians."""
    system = model.system
    tree, differentiated = system.tree, options.mass_matrix == "jacobian"
    paths, nl = dof_paths_of(tree), len(tree.links)
    nv, longest = paths.path.shape
    nj, ni = 6 * (nl - 1) if differentiated else 0, nv if system.implicit else 0
    ns = ni if options.implicit_stiffness == "symmetrized" else 0
    dense = allocate(Dense, paths=paths, nl=nl, nv=nv, longest=longest, nj=nj, ni=ni, ns=ns)
    return workspace_for(system, dense, differentiated=differentiated)


@kernel
def accelerate(system, work, a):
    """Compute dv/dt of every free coordinate under work.tau (nv,) into `a`; kinematics and forces are in `work`.

    `a` contains the prescribed accelerations.  The factors of M are kept for `apply_inverse_mass`; work.wrenches is
    overwritten.
    """
    tree, dense, depth = system.tree, work.scratch, work.scratch.paths.depth
    write_ball_columns(tree, work)
    for j in range(len(depth)):
        if depth[j] >= 0:
            a[j] = work.tau[j]
    if len(dense.J) > 0:
        fill_jacobians(tree, work, dense.J, dense.dJ)
        project_inertia(tree, work, dense.paths, dense.J, dense.M)
        project_forces(tree, work, dense.J, dense.dJ, a)
    else:
        fill_mass_matrix(tree, work, dense.paths, dense.composites, dense.M)
        subtract_bias_forces(tree, work, a)
    factor(dense.paths, dense.M)
    solve(dense.paths, dense.M, a)
    jacobian_times(tree, a, work)


@kernel
def subtract_bias_forces(tree, work, f):
    """Compute f -= J^T p for the free coordinates of f (nv,), with the bias wrenches p of the bodies."""
    for i in range(len(tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    add_jacobian_transposed_times(tree, work, f)


@kernel
def apply_inverse_mass(system, work, x, y):
    """Compute y = M^-1 (x + J^T w) (nv,) for the impulses w in work.wrenches; the bodies' dw, dv are J y.

    The factors are those of the last `accelerate`.  Prescribed coordinates of y are 0; work.wrenches is overwritten.
    """
    tree, dense, depth = system.tree, work.scratch, work.scratch.paths.depth
    for j in range(len(depth)):
        y[j] = x[j] if depth[j] >= 0 else 0.0
    add_jacobian_transposed_times(tree, work, y)
    solve(dense.paths, dense.M, y)
    jacobian_times(tree, y, work)


@kernel
def factor_implicitly(system, work, a):
    """Like `accelerate`; also factor the full matrix with implicit forces."""
    accelerate(system, work, a)
    if work.implicit_coefficients[0] > 0.0:
        fill_dense(system, work, work.scratch.A, 1.0)
        factor_dense(work.scratch.A, work.scratch.order)
        jacobian_times(system.tree, a, work)


@kernel
def accelerate_implicitly(system, work, a):
    """Like `accelerate`, with implicit forces."""
    factor_implicitly(system, work, a)
    if work.implicit_coefficients[0] > 0.0:
        correct_dense(system, work, work.scratch.A, work.scratch.order, a)


@kernel
def apply_inverse_mass_implicitly(system, work, x, y):
    """Like `apply_inverse_mass`, with implicit forces."""
    apply_inverse_mass(system, work, x, y)
    if work.implicit_coefficients[0] > 0.0:
        correct_dense(system, work, work.scratch.A, work.scratch.order, y)


@kernel
def factor_symmetrized(system, work, a):
    """Like `factor_implicitly`, with the symmetrized stiffness of springs; adds its forces to `work.tau`."""
    dense, is_implicit = work.scratch, work.implicit_coefficients[0] > 0.0
    if is_implicit:
        fill_stiffness(system, work, dense.K)
        add_stiffness_forces(work, dense.K)
    accelerate(system, work, a)
    if is_implicit:
        fill_symmetrized(system, work, dense.K, dense.A)
        factor_dense(dense.A, dense.order)
        jacobian_times(system.tree, a, work)


@kernel
def accelerate_symmetrized(system, work, a):
    """Like `accelerate_implicitly`, with the symmetrized stiffness of springs."""
    factor_symmetrized(system, work, a)
    if work.implicit_coefficients[0] > 0.0:
        correct_dense(system, work, work.scratch.A, work.scratch.order, a)


SEMIDEFINITE = Implicit(factor_implicitly, accelerate_implicitly, apply_inverse_mass_implicitly)
SYMMETRIZED = Implicit(factor_symmetrized, accelerate_symmetrized, apply_inverse_mass_implicitly, add_joint_terms)

KERNELS = MethodKernels(accelerate, apply_inverse_mass, workspace, implicit=lambda *_: SEMIDEFINITE)
CONSTRAINED = with_elimination(KERNELS)
"""For systems with rows that are eliminated within the recursion of articulated bodies."""


def kernels_of(options: RedmaxOptions, system: System) -> MethodKernels:
    """Return the kernels for a system."""
    if options.implicit_stiffness == "symmetrized" and system.implicit:
        return MethodKernels(accelerate, apply_inverse_mass, workspace, implicit=lambda *_: SYMMETRIZED)
    return CONSTRAINED if has_elimination(system) else KERNELS


REDMAX = AccelerationKind(
    name="redmax",
    description="reduced coordinates with a dense mass matrix, O(n^3)",
    kernels=KERNELS,
    supports=frozenset(Feature),
    Options=RedmaxOptions,
    variant_for=kernels_of,
)
