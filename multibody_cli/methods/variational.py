"""Method `variational`: discrete Euler-Lagrange equations in generalized coordinates, in O(n).

The residual of a step is found by one recursion outward and one inward (DRNEA), and the response of the mechanism to it
by those of articulated bodies (RIQN): both cost O(n).  Energy does not drift and momenta are kept to round-off, however
long the run.

Source: Lee, Liu, Park and Srinivasa 2016, A linear-time variational integrator for multibody systems.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.methods.aba import ABA
from multibody_cli.methods.by_variation import RootFinder, VariationalKind, VariationalOptions
from multibody_cli.methods.contract import Feature


class GeneralizedOptions(VariationalOptions):
    """Options of the method."""

    root_finder: Literal["riqn"] = Field("riqn", description="`riqn`: the response by the factors of the start.")

    @property
    def search(self) -> tuple[str, ...]:
        """The root finders in the order in which they are tried."""
        return (self.root_finder,)


VARIATIONAL = VariationalKind(
    name="variational",
    description="variational integrator in the coordinates of the joints, O(n)",
    of=ABA,
    supports=ABA.supports - {Feature.JOINT_FRICTION, Feature.IMPLICIT_SPRINGS},
    Options=GeneralizedOptions,
    finders={"riqn": RootFinder()},
)
