"""The laws of a step.  To add a law: a file with its `LAW`, an import and an entry here (`docs/theory/step.md`).

An edge of a step names its law by the place in the catalogue.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from multibody_cli.contact_solver.laws import convex_cone, coulomb, equality, one_sided
from multibody_cli.contact_solver.laws.contract import Law, project
from multibody_cli.kernel import bound_kernel, number_parameter, optional_kernel_parameter, template

LAWS: tuple[Law, ...] = (
    equality.LAW,
    one_sided.LAW,
    coulomb.LAW,
    convex_cone.LAW,
)
"""All laws."""

EQUALITY, ONE_SIDED, COULOMB, CONVEX_CONE = (
    LAWS.index(law) for law in (equality.LAW, one_sided.LAW, coulomb.LAW, convex_cone.LAW)
)
"""Numbers of those that constraints and contacts have."""

NUMBER = number_parameter("NUMBER", int)
"""The number of a law."""


@optional_kernel_parameter
def project_by_earlier(law, coefficient, n, y, P, D) -> None:
    """Project by a law before NUMBER."""


@template(project_by_earlier, project, NUMBER)
def _project_by_one_more(law, coefficient, n, y, P, D):
    """Project by the law NUMBER, or by one before it."""
    if law == NUMBER:
        project(coefficient, n, y, P, D)
    else:
        project_by_earlier(law, coefficient, n, y, P, D)


def _after(earlier: Any, number: int) -> Any:
    return bound_kernel(_project_by_one_more, project_by_earlier=earlier, project=LAWS[number].project, NUMBER=number)


project_by_law: Any = reduce(_after, range(len(LAWS)), None)
"""`project_by_law(law, coefficient, n, y, P, D)`: `laws.contract.project` of the law with that number."""
