"""What rigid bodies, and the rows between them, bring into a KKT tree."""

from __future__ import annotations

from multibody_cli.dynamics.articulated import own_inertia
from multibody_cli.dynamics.kkt_rigid import store_block
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force, store_force


@kernel
def assemble_rigid(kkt, links, bodies, rows, terms):
    """Write the inertia of every rigid body, and the wrenches of its rows, where `factor` will look for them.

    Body i of the links and of the bodies is node i.  A row has a wrench on the body that it holds and, unless that is
    the ground, on the parent.  Blocks over other than six freedoms are left alone.
    """
    nodes, wrenches = kkt.nodes, kkt.cells.wrenches
    for i in range(1, len(nodes)):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.freedoms == 6:
            store_block(wrenches, node.block, own_inertia(links[i], bodies[i]))
        for r in range(node.last_row - node.first_row):
            row = rows[node.first_row + r]
            for k in range(row.first_term, row.last_term):
                if terms[k].body == i and node.freedoms == 6:
                    store_force(wrenches[node.near + r], load_force(terms[k]))
                elif terms[k].body == node.parent and node.parent and outer.freedoms == 6:
                    store_force(wrenches[node.far + r], load_force(terms[k]))
