"""Method `variational`: discrete Euler-Lagrange equations in generalized coordinates, in O(n).

The residual of a step is found by one recursion outward and one inward (DRNEA), and the response of the mechanism to it
by those of articulated bodies (RIQN): both cost O(n).  Energy does not drift and momenta are kept to round-off, however
long the run.

Source: Lee, Liu, Park and Srinivasa 2016, A linear-time variational integrator for multibody systems.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.aba import ABA
from multibody_cli.methods.by_variation import RootFinder, VariationalKind, VariationalOptions, make_by_start
from multibody_cli.methods.contract import Feature, Kernel
from multibody_cli.model import System
from multibody_cli.variational.broyden import answer_by_broyden
from multibody_cli.variational.newton import (
    Searching,
    answer_by_factors,
    answer_by_newton,
    gather_lacks,
    searching_for,
)
from multibody_cli.variational.svi import answer_by_start_to_sums, sum_lacks

AGAIN = {
    "drnea": bound_kernel(answer_by_factors, gather=gather_lacks),
    "svi": bound_kernel(answer_by_factors, gather=sum_lacks),
}
"""Answers by factors that were found, with either way to evaluate the residual."""


def newton(evaluation: str) -> RootFinder:
    """Newton's method, with a way to evaluate the residual."""
    again = AGAIN[evaluation]
    bound = bound_kernel(answer_by_newton, answer_by_factors=again)
    return RootFinder(lambda _answer: bound, with_derivative, again)


def broyden(evaluation: str, gather: Kernel) -> RootFinder:
    """Broyden's method, with a way to evaluate the residual."""
    bound = bound_kernel(answer_by_broyden, gather=gather)
    return RootFinder(lambda _answer: bound, with_derivative)


def make_by_sums(answer: Kernel) -> Kernel:
    """Make the root finder that uses the factors of the start, with the residual by sums."""
    return bound_kernel(answer_by_start_to_sums, answer=answer)  # type: ignore[no-any-return]


def with_derivative(system: System, options: Any) -> Searching:
    """Allocate the work arrays of a root finder that works out the derivative."""
    return searching_for(system, options.max_iterations)


FINDERS = {
    "riqn": RootFinder(make_by_start),
    "newton": newton("drnea"),
    "broyden": broyden("drnea", gather_lacks),
    "riqn_svi": RootFinder(make_by_sums, with_derivative),
    "newton_svi": newton("svi"),
    "broyden_svi": broyden("svi", sum_lacks),
}
"""Every root finder, with either way to evaluate the residual."""

MOST_DENSE = 300
"""Freedoms up to which Newton's method stands by for steps that the other does not find: it takes a dense matrix."""


class GeneralizedOptions(VariationalOptions):
    """Options of the method."""

    root_finder: Literal["riqn", "newton", "broyden"] = Field(
        "riqn",
        description="`riqn`: the response by the factors of the start, O(n); where that stalls, and if there are "
        f"{MOST_DENSE} freedoms at most, Newton's method takes over. `newton`: the exact derivative as a dense matrix, "
        "and rows of restraint by theirs at the end of the step. `broyden`: the same matrix for the first correction, "
        "then secants.",
    )
    evaluation: Literal["drnea", "svi"] = Field(
        "drnea", description="Residual of a step: `drnea` by one recursion, O(n); `svi` by sums over bodies, O(n^2)."
    )

    def search_in(self, system: System) -> tuple[str, ...]:
        """Give the root finders in the order in which they are tried."""
        end = "" if self.evaluation == "drnea" else "_svi"
        stand_by = self.root_finder == "riqn" and len(system.tree.driven) <= MOST_DENSE
        return (f"{self.root_finder}{end}", *([f"newton{end}"] if stand_by else []))


VARIATIONAL = VariationalKind(
    name="variational",
    description="variational integrator in the coordinates of the joints, O(n)",
    of=ABA,
    supports=ABA.supports - {Feature.JOINT_FRICTION, Feature.IMPLICIT},
    Options=GeneralizedOptions,
    finders=FINDERS,
)
