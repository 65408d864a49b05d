"""Models at rest: prescribed motions that hold, elements that have no single equilibrium, and messages of a search."""

from __future__ import annotations

from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed
from multibody_cli.initial.largest_force import find_largest_force, start_of
from multibody_cli.kernel import Flags
from multibody_cli.model import Model
from multibody_cli.statics.search import NoEquilibrium


def with_held_motions(model: Model, moving: Flags) -> Model:
    """Return the model in which prescribed coordinates keep their values, but for those (nv,) with a steady motion."""
    motions = model.system.motions
    rows = motions.rows[moving[motions.rows["iv"]]]
    return replace(model, system=model.system._replace(motions=motions._replace(rows=rows)))


def objection_to_equilibrium(model: Model) -> str:
    """Return why a scene has no single equilibrium; "" if it may have one."""
    names = model.names
    if not names.contacts and not names.has_dry_friction:
        return ""
    kind = "contacts" if names.contacts else "dry friction"
    return f"the scene has {kind}, whose equilibria are a set: `mbsim equilibrium --write` makes a scene in one"


def explained(model: Model, error: NoEquilibrium) -> str:
    """Return the message of a search that failed: where, why, and the element with the largest force."""
    largest = find_largest_force(model, start_of(error.state, placed(model, error.state)))
    force = f"{largest.name}, {largest.value:.3g} {largest.unit}" if largest and largest.value else ""
    cause = f"; the largest force there is that of {force}" if force else ""
    return (
        f"no equilibrium at t = {float(error.state.time[0]):g} s downhill from the start: "
        f"{model.names.coordinates[error.coordinate]} has the largest unbalanced force, and {error}{cause}. Check that "
        "a joint, a spring, a limit or a constraint holds it, or start nearer; start in an unstable equilibrium itself"
    )
