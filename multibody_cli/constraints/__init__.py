"""All kinds of constraints.  To add a constraint: a file with its `KIND`, an import and an entry here."""

from multibody_cli.constraints import (
    distance,
    equal,
    gear,
    knife_edge,
    limit,
    linear,
    point_on_plane,
    rack_pinion,
    rolling,
    velocity,
)
from multibody_cli.constraints.contract import ConstraintKind

CONSTRAINTS: dict[str, ConstraintKind] = {
    module.KIND.name: module.KIND
    for module in (
        distance,
        point_on_plane,
        rolling,
        knife_edge,
        velocity,
        rack_pinion,
    )
}
"""Entries of `constraints:` by type."""

COUPLINGS: dict[str, ConstraintKind] = {module.KIND.name: module.KIND for module in (gear, equal, linear)}
"""Entries of `couplings:` by type."""

KINDS = CONSTRAINTS | COUPLINGS
"""Entries of both by type."""

TABLES = (limit.TABLE, *dict.fromkeys(kind.table for kind in KINDS.values()))
"""All tables, in the order in which a model holds them; the rows of limits are written with the joints."""
