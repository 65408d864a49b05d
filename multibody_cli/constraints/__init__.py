"""Everything that restrains a motion.  To add a constraint: a file with its `KIND`, an import and an entry here."""

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
"""Every entry of `constraints:` by its word."""

COUPLINGS: dict[str, ConstraintKind] = {module.KIND.name: module.KIND for module in (gear, equal, linear)}
"""Every entry of `couplings:` by its word."""

KINDS = CONSTRAINTS | COUPLINGS
"""Every entry of both by its word."""

TABLES = (limit.TABLE, *dict.fromkeys(kind.table for kind in KINDS.values()))
"""Every table, in the order in which a model holds them; the limits are written with the joints."""
