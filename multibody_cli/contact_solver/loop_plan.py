"""Plan of the loops of a pass (`open_loops`): in which order they are eliminated, where they are open, and how coupled.

Joints that close loops, and pairs of bodies that edges connect, are loops alike.  A loop is *open* at the bodies on the
two paths from its ends to their last common ancestor.  There it *closes*.  Loops are eliminated from the leaves to the
ground; those of joints that close at the ground by minimum degree (`kkt.elimination`), and pairs after them.  Two loops
are coupled if both are open at one body, or if another one that is coupled to both is eliminated before them.

A plan takes time in proportion to the bodies on the paths.  It changes with the pairs.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def plan_loops(B, pairs, count) -> bool:
    """Plan the loops of all joints and of the first `count` pairs; return False if the tables are too small."""
    B.pairs_planned[0] = -1
    if count > B.max_pairs[0]:
        return False
    order_loops(B, pairs, count)
    if not number_slots(B):
        return False
    fill_slots(B)
    if not couple_loops(B):
        return False
    address_couplings(B)
    B.pairs_planned[0] = count
    return True


# --- order ------------------------------------------------------------------------------------------------------------
@kernel
def order_loops(B, pairs, count):
    """List all loops, those that close at later bodies first; joints are in this order already."""
    joints = len(B.nodes) - len(B.links)
    for k in range(joints + count):
        c, pair = k, k - joints
        if pair < 0:
            child, parent = B.nodes[len(B.links) + k].child, B.nodes[len(B.links) + k].parent
        else:
            child, parent = pairs[pair, 0], pairs[pair, 1]
        at = common_ancestor(B, child, parent)
        while c > 0 and B.loops[c - 1].closes_at < at:
            move_loop(B.loops[c - 1], B.loops[c])
            c -= 1
        loop = B.loops[c]
        loop.child, loop.parent, loop.closes_at, loop.pair = child, parent, at, pair
        loop.node = len(B.links) + k if pair < 0 else -1
    B.number[0] = joints + count
    for c in range(B.number[0]):
        if B.loops[c].node >= 0:
            B.loop_of_joint[B.loops[c].node - len(B.links)] = c


@kernel
def move_loop(loop, to):
    """Move a loop to another place in the order."""
    to.child, to.parent, to.closes_at = loop.child, loop.parent, loop.closes_at
    to.node, to.pair = loop.node, loop.pair


@kernel
def common_ancestor(B, a, b) -> int:
    """Return the last common ancestor of two bodies; parents come before their children."""
    while a != b:
        if a > b:
            a = B.nodes[a].parent
        else:
            b = B.nodes[b].parent
    return a


# --- slots ------------------------------------------------------------------------------------------------------------
@kernel
def number_slots(B) -> bool:
    """Number the slots of all bodies, first of the loops that are open, then of those that close."""
    links = B.links
    for i in range(len(links)):
        links[i].last_open = links[i].last_slot = 0
    for c in range(B.number[0]):
        loop = B.loops[c]
        if loop.closes_at > 0:
            links[loop.closes_at].last_slot += 1
        for end in (loop.child, loop.parent):
            while end != loop.closes_at:
                links[end].last_open += 1
                end = B.nodes[end].parent
    slots = pairs = 0
    for i in range(len(links)):
        is_open, closing = links[i].last_open, links[i].last_slot
        links[i].first_slot, links[i].first_pair = slots, pairs
        links[i].last_open, links[i].last_slot = slots, slots + is_open  # advanced by `fill_slots`
        slots, pairs = slots + is_open + closing, pairs + is_open * is_open
    B.slots_used[0] = slots
    return slots <= len(B.slots) and pairs <= len(B.pairs)


@kernel
def fill_slots(B):
    """List the loops in the slots of the bodies, with the slots of the parents."""
    for c in range(B.number[0]):
        loop = B.loops[c]
        loop.slot = -1
        if loop.closes_at > 0:
            link = B.links[loop.closes_at]
            loop.slot = link.last_slot
            B.slots[loop.slot].loop, B.slots[loop.slot].outer = c, -1
            link.last_slot += 1
        loop.child_slot = open_to_ancestor(B, c, loop.child)
        loop.parent_slot = open_to_ancestor(B, c, loop.parent)


@kernel
def open_to_ancestor(B, c, end) -> int:
    """List a loop at all bodies from one of its ends to where it closes; return its slot at that end."""
    loop, first, last = B.loops[c], B.loops[c].slot, -1
    while end != loop.closes_at:
        link = B.links[end]
        s = link.last_open
        link.last_open += 1
        B.slots[s].loop, B.slots[s].outer = c, loop.slot
        if last < 0:
            first = s
        else:
            B.slots[last].outer = s
        last, end = s, B.nodes[end].parent
    return first


# --- couplings --------------------------------------------------------------------------------------------------------
@kernel
def couple_loops(B) -> bool:
    """List for each loop those that are coupled to it and eliminated later; fill-in included."""
    for c in range(B.number[0]):
        B.later_count[c] = 0
    for i in range(len(B.links)):
        for s in range(B.links[i].first_slot, B.links[i].last_open):
            for other in range(s + 1, B.links[i].last_open):
                if not couple(B, B.slots[s].loop, B.slots[other].loop):
                    return False
    couplings = updates = 0
    for c in range(B.number[0]):
        count = B.later_count[c]
        for a in range(count):
            for b in range(a + 1, count):
                one, other = B.later[c, a], B.later[c, b]
                if not couple(B, min(one, other), max(one, other)):
                    return False
        loop = B.loops[c]
        loop.first_neighbour, loop.last_neighbour, loop.first_update = couplings, couplings + count, updates
        couplings, updates = couplings + count, updates + count * count
    B.blocks_used[0] = B.number[0] + 2 * couplings
    return couplings <= len(B.neighbours) and updates <= len(B.updates) and B.blocks_used[0] <= len(B.G)


@kernel
def couple(B, c, d) -> bool:
    """Add loop d to those that are eliminated after c and coupled to it."""
    count = B.later_count[c]
    for k in range(count):
        if B.later[c, k] == d:
            return True
    if count == B.later.shape[1]:
        return False
    B.later[c, count] = d
    B.later_count[c] += 1
    return True


@kernel
def address_couplings(B):
    """Write the addresses in G of all neighbours, of their pairs, and of the pairs of loops that are open at a body."""
    for c in range(B.number[0]):
        loop, update = B.loops[c], B.loops[c].first_update
        for k in range(loop.first_neighbour, loop.last_neighbour):
            one, d = B.neighbours[k], B.later[c, k - loop.first_neighbour]
            one.loop, one.coupling, one.transposed = d, address(B, c, d), address(B, d, c)
            one.slot = slot_of(B, loop.closes_at, d)
        for a in range(B.later_count[c]):
            for b in range(B.later_count[c]):
                B.updates[update] = address(B, B.later[c, a], B.later[c, b])
                update += 1
    for i in range(len(B.links)):
        link, pair = B.links[i], B.links[i].first_pair
        for a in range(link.first_slot, link.last_open):
            for b in range(link.first_slot, link.last_open):
                B.pairs[pair] = address(B, B.slots[a].loop, B.slots[b].loop)
                pair += 1


@kernel
def address(B, c, d) -> int:
    """Return the address in G of the block of the equations of loop c and the wrench of loop d."""
    if c == d:
        return c
    first, other, k = min(c, d), max(c, d), 0
    while B.later[first, k] != other:
        k += 1
    k += B.loops[first].first_neighbour
    return B.number[0] + 2 * k + (1 if c > d else 0)


@kernel
def slot_of(B, i, d) -> int:
    """Return the slot of a loop at a body; -1 at the ground."""
    if i > 0:
        for s in range(B.links[i].first_slot, B.links[i].last_slot):
            if B.slots[s].loop == d:
                return s
    return -1
