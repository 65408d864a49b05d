"""All kinds of constraints.  To add a constraint: a file with its `KIND`, an import and an entry here."""

from multibody_cli.constraints import (
    distance,
    expression,
    function,
    knife_edge,
    limit,
    point_on_plane,
    relations,
    rolling,
    rope,
    rotor,
    velocity,
)

GEAR, EQUAL, LINEAR, RACK_PINION = relations.KINDS

CONSTRAINTS = {
    kind.name: kind
    for kind in (
        distance.KIND,
        point_on_plane.KIND,
        rolling.KIND,
        knife_edge.KIND,
        velocity.KIND,
        rope.ROPE,
        rope.BELT,
        expression.KIND,
        RACK_PINION,
    )
}
"""Entries of `constraints:` by type."""

COUPLINGS = {kind.name: kind for kind in (GEAR, EQUAL, LINEAR, function.KIND)}
"""Entries of `couplings:` by type."""

KINDS = CONSTRAINTS | COUPLINGS
"""Entries of both by type."""

TABLES = (limit.TABLE, rotor.TABLE, *dict.fromkeys(kind.table for kind in KINDS.values()))
"""All tables, in the order in which a model holds them; those of limits and rotors belong to joints."""
