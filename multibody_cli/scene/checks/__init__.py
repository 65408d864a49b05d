"""Consistency checks of a scene: references between elements and combinations of features."""

from collections.abc import Callable

from multibody_cli.scene.checks import (
    actuators,
    constraints,
    contacts,
    effects,
    expectations,
    features,
    methods,
    names,
    references,
    topology,
)
from multibody_cli.scene.checks.partial_scene import PartialScene

CHECKS: tuple[Callable[[PartialScene], None], ...] = (
    names.check_size,
    names.check_names,
    topology.check_topology,
    topology.check_limits,
    constraints.check_constraints,
    contacts.check_contacts,
    features.check_kinds,
    effects.check_effects,
    references.check_references,
    actuators.check_actuators,
    methods.check_methods,
    features.check_features,
    methods.check_times,
    expectations.check_expectations,
    expectations.check_events,
)
"""All checks; each reports its problems to the partial."""


def check(partial: PartialScene) -> None:
    """Run all checks."""
    for run in CHECKS:
        run(partial)
