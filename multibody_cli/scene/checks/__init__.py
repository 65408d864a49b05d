"""Consistency checks of a scene: references between elements and combinations of features."""

from collections.abc import Callable

from multibody_cli.scene.checks import (
    actuators,
    constraints,
    contacts,
    effects,
    expectations,
    features,
    kinds,
    limits,
    methods,
    names,
    references,
    size,
    times,
    topology,
)
from multibody_cli.scene.checks.draft import Draft

CHECKS: tuple[Callable[[Draft], None], ...] = (
    size.check_size,
    names.check_names,
    topology.check_topology,
    limits.check_limits,
    constraints.check_constraints,
    contacts.check_contacts,
    kinds.check_kinds,
    effects.check_effects,
    references.check_references,
    actuators.check_actuators,
    methods.check_methods,
    features.check_features,
    times.check_times,
    expectations.check_expectations,
)
"""All checks; each reports its problems to the draft."""


def check(draft: Draft) -> None:
    """Run all checks."""
    for run in CHECKS:
        run(draft)
