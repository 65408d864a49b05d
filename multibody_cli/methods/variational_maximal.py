"""Method `variational_maximal`: discrete Euler-Lagrange equations in the coordinates of the bodies, in O(n).

Every body strides by itself, and every joint is a constraint that holds at the end of each step: nothing drifts apart,
loops as little as trees.

Source: Bruedigam and Manchester 2020, Linear-time variational integrators in maximal coordinates.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.methods.baraff import BARAFF
from multibody_cli.methods.by_variation import RootFinder, VariationalKind, VariationalOptions, make_by_start
from multibody_cli.methods.contract import Feature
from multibody_cli.model import System
from multibody_cli.variational.newton_maximal import answer_exactly, answer_to_more, newton_for

FINDERS = {
    "newton": RootFinder(lambda _answer: answer_exactly, lambda system, _options: newton_for(system), answer_to_more),
    "riqn": RootFinder(make_by_start),
}


class MaximalOptions(VariationalOptions):
    """Options of the method."""

    root_finder: Literal["newton", "riqn"] = Field(
        "newton",
        description="`newton`: the exact derivative, factored in O(n) without fill-in. `riqn`: the response by the "
        "factors of the start.",
    )

    def search_in(self, system: System) -> tuple[str, ...]:
        """The root finders in the order in which they are tried."""
        return (self.root_finder,)


VARIATIONAL_MAXIMAL = VariationalKind(
    name="variational_maximal",
    description="variational integrator in the coordinates of the bodies, joints held by position, O(n)",
    of=BARAFF,
    supports=BARAFF.supports - {Feature.JOINT_FRICTION, Feature.AFFINE, Feature.IMPLICIT},
    Options=MaximalOptions,
    finders=FINDERS,
)
