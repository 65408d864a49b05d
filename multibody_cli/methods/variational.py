"""Method `variational`: discrete Euler-Lagrange equations in generalized coordinates, in O(n).

DRNEA, (18)-(22), evaluates the residual of a step by one outward and one inward pass, and RIQN, (25), corrects it by
the impulse response of articulated bodies; both cost O(n) (`variational.step`).  The energy does not drift, and momenta
are conserved to round-off.

Source: Lee, Liu, Park and Srinivasa 2016, A linear-time variational integrator for multibody systems.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from multibody_cli.kernel import Kernel, bound_kernel
from multibody_cli.methods.aba import ABA
from multibody_cli.methods.by_variation import VariationalKind, VariationalOptions, make_riqn
from multibody_cli.methods.contract import Feature
from multibody_cli.methods.integrators.variational_steps import RootFinder
from multibody_cli.model import System
from multibody_cli.variational.newton import (
    RootFinderWork,
    broyden_response,
    composite_jacobian,
    newton_response,
    newton_response_reusing_factors,
    root_finder_work_for,
)
from multibody_cli.variational.step import drnea_inward_pass
from multibody_cli.variational.svi import riqn_svi_response, svi_jacobian, svi_residual


def newton(evaluate_residual: Kernel, evaluate_jacobian: Kernel) -> RootFinder:
    """Return Newton's method, with a way to evaluate the residual and its derivative."""
    kernels = {"evaluate_residual": evaluate_residual, "evaluate_jacobian": evaluate_jacobian}
    reusing_factors = bound_kernel(newton_response_reusing_factors, evaluate_residual=evaluate_residual)
    return RootFinder(
        lambda _impulse_response: bound_kernel(newton_response, **kernels),
        with_derivative,
        reusing_factors,
    )


def broyden(evaluate_residual: Kernel, evaluate_jacobian: Kernel) -> RootFinder:
    """Return Broyden's method, with a way to evaluate the residual and its derivative."""
    kernels = {"evaluate_residual": evaluate_residual, "evaluate_jacobian": evaluate_jacobian}
    return RootFinder(
        lambda _impulse_response: bound_kernel(broyden_response, **kernels),
        with_derivative,
    )


def make_riqn_svi(impulse_response: Kernel) -> Kernel:
    """Make RIQN with the residual by sums over bodies (SVI)."""
    return bound_kernel(riqn_svi_response, impulse_response=impulse_response)


def with_derivative(system: System, options: Any) -> RootFinderWork:
    """Allocate the work arrays of a root finder that computes the Jacobian."""
    return root_finder_work_for(system, options.max_iterations)


ROOT_FINDERS = {
    "riqn": RootFinder(make_riqn),
    "newton": newton(drnea_inward_pass, composite_jacobian),
    "broyden": broyden(drnea_inward_pass, composite_jacobian),
    "riqn_svi": RootFinder(make_riqn_svi, with_derivative),
    "newton_svi": newton(svi_residual, svi_jacobian),
    "broyden_svi": broyden(svi_residual, svi_jacobian),
}
"""Every root finder, with either way to evaluate the residual and its derivative."""

MAX_DENSE_DOFS = 300
"""Degrees of freedom up to which Newton's method is the fallback of RIQN: it needs a dense matrix."""


class GeneralizedOptions(VariationalOptions):
    """Options of the method."""

    root_finder: Literal["riqn", "newton", "broyden"] = Field(
        "riqn",
        description="`riqn`: quasi-Newton with the factorization at the start of the step, O(n); if it stalls, "
        f"Newton's method is used, up to {MAX_DENSE_DOFS} degrees of freedom. `newton`: the exact Jacobian as a dense "
        "matrix, with constraint rows of the end of the step. `broyden`: the exact Jacobian at first, then "
        "secants.",
    )
    evaluation: Literal["drnea", "svi"] = Field(
        "drnea",
        description="Residual of a step: `drnea` by recursion, O(n), with its derivative, O(n^2); `svi` by sums over "
        "bodies, O(n^2), with its derivative, O(n^3).",
    )

    def root_finder_order(self, system: System) -> tuple[str, ...]:
        """Return the root finders in the order of their use."""
        end = "" if self.evaluation == "drnea" else "_svi"
        stand_by = self.root_finder == "riqn" and len(system.tree.driven) <= MAX_DENSE_DOFS
        return (f"{self.root_finder}{end}", *([f"newton{end}"] if stand_by else []))


VARIATIONAL = VariationalKind(
    name="variational",
    description="variational integrator in generalized coordinates, O(n)",
    base_method=ABA,
    supports=ABA.supports - {Feature.COMPUTED_TORQUE},
    Options=GeneralizedOptions,
    root_finders=ROOT_FINDERS,
)
