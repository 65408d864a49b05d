"""Interface of a law: which impulses x and velocities u of the rows of an edge belong together.

A law is a projection P onto admissible impulses.  It states that x = P(x - u / w) with a scale w > 0 of the rows.  Both
the passes over trees (`contact_solver.edges`) and the solvers of rows (`contact_solver.friction`) use no more of it
than P and its derivative D, in Newton's method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.kernel import kernel_parameter


@kernel_parameter
def project(coefficient: float, n: int, y: Any, P: Any, D: Any) -> None:
    """Compute P(y) of the rows from n on into P (m,), and its derivative into D (m, 3).

    Row k of D holds the derivatives of P[k] by the rows of the edge.  A law of one row writes D[n, 0] alone.
    """


class Law(NamedTuple):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        Its name in messages.
    rows
        Number of rows, 1 or 3.
    project
        A kernel or formula `project`; its coefficient is that of the edge, such as that of friction.
    """

    name: str
    rows: int
    project: Any
