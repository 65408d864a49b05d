"""The laws of a step.  A new law is a module of its name with its `LAW`, and an entry here (`docs/theory/step.md`).

An edge of a step names its law by the place in the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multibody_cli.registry import Registry

if TYPE_CHECKING:
    from multibody_cli.contact_solver.laws.contract import Law


CONTACT_METHODS = {
    "equality": "",
    "one_sided": "",
    "coulomb": "proximal",
    "convex_cone": "single_qp",
}
"""Each law with the `contacts.method` of a scene that selects it for contacts; empty for none."""

LAWS: Registry[Law] = Registry.of_modules(__name__, {name: f"{name}.LAW" for name in CONTACT_METHODS})
"""All laws by the names of their modules."""

EQUALITY, ONE_SIDED, COULOMB, CONVEX_CONE = map(
    list(CONTACT_METHODS).index, ("equality", "one_sided", "coulomb", "convex_cone")
)
"""Numbers of the laws that the solvers name."""


def law_of_contacts(method: str) -> int:
    """Return the number of the law that a value of `contacts.method` selects; other solvers have Coulomb's law."""
    methods = list(CONTACT_METHODS.values())
    return methods.index(method) if method in methods else COULOMB
