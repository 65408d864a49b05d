"""Method `variational_maximal`: discrete Euler-Lagrange equations in maximal coordinates, in O(n).

Every body has its own discrete motion, and every joint is a constraint that holds at the end of each step: neither
joints nor loops drift apart.  Newton's method solves the momentum balance of the bodies, (26) and (33), together with
the constraints, by a sparse factorization of the Jacobian (38) (`variational.newton_maximal`).

Source: Bruedigam and Manchester 2020, Linear-time variational integrators in maximal coordinates.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from multibody_cli.methods.baraff import BARAFF
from multibody_cli.methods.by_variation import VariationalKind, VariationalOptions, make_riqn
from multibody_cli.methods.integrators.variational_steps import RootFinder
from multibody_cli.model import System
from multibody_cli.spec.quantities import located_error
from multibody_cli.variational.newton_maximal import (
    maximal_newton_for,
    newton_maximal_response,
    newton_maximal_response_reusing_factors,
)

ROOT_FINDERS = {
    "newton": RootFinder(
        lambda _impulse_response: newton_maximal_response,
        lambda system, _options: maximal_newton_for(system),
        newton_maximal_response_reusing_factors,
    ),
    "riqn": RootFinder(make_riqn),
}


class MaximalOptions(VariationalOptions):
    """Options of the method."""

    root_finder: Literal["newton", "riqn"] | None = Field(
        None,
        description="`newton`: Newton's method with the exact Jacobian, factored in O(n) without fill-in. `riqn`: "
        "quasi-Newton with the factorization at the start of the step. Default: `riqn` with `implicit_forces`, which "
        "couple bodies, else `newton`.",
    )

    @model_validator(mode="after")
    def _refuse_newton_with_implicit_forces(self) -> Self:
        if self.root_finder == "newton" and self.implicit_forces:
            message = "`newton` has no derivatives of forces between bodies: use `riqn` with `implicit_forces`"
            raise located_error(message, "root_finder")
        return self

    def root_finder_order(self, system: System) -> tuple[str, ...]:
        """Return the root finders in the order of their use."""
        return (self.root_finder or ("riqn" if self.implicit_forces else "newton"),)


VARIATIONAL_MAXIMAL = VariationalKind(
    name="variational_maximal",
    description="variational integrator in maximal coordinates, joints as position constraints, O(n)",
    base_method=BARAFF,
    supports=BARAFF.supports,
    Options=MaximalOptions,
    root_finders=ROOT_FINDERS,
)
