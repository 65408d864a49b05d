"""One pass over the tree as scripts, one for each kind of run, specialized by constant propagation.

A run passes a state of numbers from link to link.  A branching link, or the end of a run, passes it to other runs
through memory.  Constant propagation determines which of these numbers are constant, most of them zero: scripts are
written with the known constants and written again with the resulting states, until a fixed point.  A backward analysis
then determines which numbers are used at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from multibody_cli.codegen.joint_steps import Emitter, Slot
from multibody_cli.codegen.runs import LinkRun, RunKind, RunPlan
from multibody_cli.symbolic.scalar import Scalar, Value, name
from multibody_cli.symbolic.script import Load, Location, Script, Statement, names_in

Pattern = tuple[float | None, ...]
"""The value of each number of a state; None where it varies."""


class Carry(NamedTuple):
    """A number of the state that is passed to the next link of a run."""

    number: int


class Area(NamedTuple):
    """A number of the area of a branching link."""

    kind: int
    position: int
    number: int


class Pass(NamedTuple):
    """One pass: the operations on each link, in the order of rows or inward.

    Parameters
    ----------
    title
        Comment at the head of the pass.
    inward
        Whether it runs from the leaves to the ground; the states of children are then added.
    reuses_joints
        Whether an earlier pass has evaluated the joints.
    state_names
        Names of the numbers of the state.
    area
        Offset of the state in an area.
    ground
        The state of the ground, for an outward pass; numbers that are None are loaded from memory.
    link
        Function from the incoming state of a link to the outgoing one.
    """

    title: str
    inward: bool
    reuses_joints: bool
    state_names: tuple[str, ...]
    area: int
    ground: Pattern
    link: Callable[[Emitter, Sequence[Value]], Sequence[Value]]


class SpecializedPass(NamedTuple):
    """A pass specialized to a tree: for each kind its incoming constants and its live statements.

    `needed` are the numbers of the state that are used; live statements compute used values.
    """

    tree_pass: Pass
    entries: tuple[Pattern, ...]
    needed: frozenset[int]
    statements: tuple[list[Statement], ...]


class Propagator:
    """Constant propagation for the states of one pass."""

    def __init__(self, plan: RunPlan, tree_pass: Pass, known: dict[Slot, Value]) -> None:
        self.plan, self.tree_pass, self._known = plan, tree_pass, known
        self._scripts: dict[int, Script] = {}
        self._entries: dict[int, Pattern] = {}
        self._written_for: dict[int, tuple[Pattern | None, ...]] = {}
        self._out: dict[tuple[int, int], Pattern] = {}  # outgoing state of each link
        self._incoming: dict[tuple[int, int], Pattern] = {}  # sum of the received states
        self._site_of = {
            link.row: (run.kind, k % len(plan.kinds[run.kind].sites))
            for run in plan.runs
            for k, link in enumerate(run.links)
        }

    def propagate(self) -> None:
        """Write the scripts of all kinds until a fixed point."""
        order = self.plan.kinds[::-1] if self.tree_pass.inward else self.plan.kinds
        changed = True
        while changed:
            changed = False
            for kind in order:
                changed |= self._propagate_kind(kind)

    def specialized(self, slots: set[Slot]) -> SpecializedPass:
        """Return the live statements of the scripts; later passes load `slots`."""
        needed: set[int] = set()
        kinds = range(len(self.plan.kinds))

        def wanted(location: Location) -> bool:
            if isinstance(location, Carry):
                return location.number in needed
            if isinstance(location, Area):
                return location.number - self.tree_pass.area in needed
            return location in slots if isinstance(location, Slot) else True

        while True:
            statements = tuple(self._scripts[k].live(wanted) for k in kinds)
            used_names = {name.text for one in statements for name in names_in(one)}
            found = {i for i, word in enumerate(self.tree_pass.state_names) if word in used_names}
            loaded = (s.location for one in statements for s in one if isinstance(s, Load))
            found |= {location.number - self.tree_pass.area for location in loaded if isinstance(location, Area)}
            if found <= needed:
                break
            needed |= found
        entries = tuple(self._entries[k] for k in kinds)
        return SpecializedPass(self.tree_pass, entries, frozenset(needed), statements)

    def _propagate_kind(self, kind: RunKind) -> bool:
        k, last = kind.sites[0].kind, len(kind.sites) - 1
        first = last if self.tree_pass.inward else 0
        incoming = [state for run in kind.runs if (state := self._initial_state(kind, run)) is not None]
        if kind.repeats and (around := self._out.get((k, last - first))):
            incoming.append(around)
        if k in self._entries:
            incoming.append(self._entries[k])
        entry = _common(incoming)
        merged = tuple(self._incoming.get((k, site.position)) for site in kind.sites)
        if (entry, merged) == (self._entries.get(k), self._written_for.get(k)):
            return False
        self._entries[k], self._written_for[k] = entry, merged
        self._scripts[k] = self._write(kind, entry)
        if self.tree_pass.inward:
            for run in kind.runs:
                self._merge_incoming(run.links[0].parent, self._out[k, 0])
        return True

    def _initial_state(self, kind: RunKind, run: LinkRun) -> Pattern | None:
        """Return the state at the start of a run, as far as it is known; None if nothing is known yet."""
        if self.tree_pass.inward:
            end = (run.kind, len(kind.sites) - 1)
            nothing = (0.0,) * len(self.tree_pass.state_names)
            return self._incoming.get(end, nothing) if kind.continues else nothing
        parent = run.links[0].parent
        return self.tree_pass.ground if parent == 0 else self._out.get(self._site_of[parent])

    def _merge_incoming(self, row: int, state: Pattern) -> None:
        """Add a state to the sum of the states that a link receives from its children."""
        if row > 0:
            before = self._incoming.get(self._site_of[row], (0.0,) * len(state))
            self._incoming[self._site_of[row]] = tuple(
                0.0 if own == 0.0 and other == 0.0 else None for own, other in zip(before, state, strict=True)
            )

    def _write(self, kind: RunKind, entry: Pattern) -> Script:
        script, tree_pass = Script(), self.tree_pass
        state: list[Value] = [
            name(word) if x is None else x for word, x in zip(tree_pass.state_names, entry, strict=True)
        ]
        for site in kind.sites[::-1] if tree_pass.inward else kind.sites:
            location = (site.kind, site.position)
            areas = [Area(*location, tree_pass.area + i) for i in range(len(state))]
            if tree_pass.inward and site.forks:
                box = self._incoming.get(location, (0.0,) * len(state))
                for i, x in enumerate(box):
                    if x is None:
                        state[i] = state[i] + script.load(tree_pass.state_names[i].replace("0", "side"), areas[i])
                        script.store(areas[i], 0.0)  # for the next evaluation
            state = list(tree_pass.link(Emitter(script, site, tree_pass.reuses_joints, self._known), state))
            self._out[location] = tuple(None if isinstance(x, Scalar) else x for x in state)
            if not tree_pass.inward and site.forks:
                for area, value in zip(areas, state, strict=True):
                    script.store(area, value)
        for i, value in enumerate(state):
            script.store(Carry(i), value)
        return script


def _common(patterns: Sequence[Pattern]) -> Pattern:
    """Return the constants that all patterns share."""
    return tuple(column[0] if len(set(column)) == 1 else None for column in zip(*patterns, strict=True))
