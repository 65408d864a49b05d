"""The projection of each law by its number."""

from __future__ import annotations

from functools import reduce
from typing import Any

from multibody_cli.contact_solver.laws import LAWS
from multibody_cli.contact_solver.laws.contract import project
from multibody_cli.kernel import bound_kernel, number_parameter, optional_kernel_parameter, template

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
    law = list(LAWS.values())[number]
    return bound_kernel(_project_by_one_more, project_by_earlier=earlier, project=law.project, NUMBER=number)


project_by_law: Any = reduce(_after, range(len(LAWS)), None)
"""`project_by_law(law, coefficient, n, y, P, D)`: `laws.contract.project` of the law with that number."""
