"""One pass over the tree, as scripts: one for each kind of run, with what goes from link to link found out first.

A run carries a state of numbers from link to link, a fork or the end of a run hands it to other runs through memory.
Which of these numbers are constant, and most of them zero, follows from the text itself: it is written with what is
known at the start, and again with what came of it, until nothing changes.  Which of them anyone asks for follows in the
same way from the other end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from multibody_cli.codegen.joint_steps import Desk, Slot
from multibody_cli.codegen.runs import Kind, Plan, Run
from multibody_cli.symbolic.scalar import Scalar, Value, name
from multibody_cli.symbolic.script import Fetch, Place, Script, Statement, names_in

Pattern = tuple[float | None, ...]
"""For each number of a state its value, or None where that varies."""


class Carry(NamedTuple):
    """A number that is carried to the next link of a run."""

    number: int


class Area(NamedTuple):
    """A number of the area of a link that forks."""

    kind: int
    position: int
    number: int


class Pass(NamedTuple):
    """What is done for each link, in the order of rows or inward.

    Parameters
    ----------
    title
        What the text says first.
    inward
        Whether it runs from the leaves to the ground; states then add up where links fork.
    again
        Whether an earlier pass has crossed the joints.
    words
        Names of the numbers that are carried.
    area
        Where they begin among the numbers of a fork.
    ground
        The state of the ground, where it runs outward.
    link
        From the state that comes in to the one that goes out.
    """

    title: str
    inward: bool
    again: bool
    words: tuple[str, ...]
    area: int
    ground: tuple[float, ...]
    link: Callable[[Desk, Sequence[Value]], Sequence[Value]]


class Woven(NamedTuple):
    """A pass over a tree: for each kind its script, what is known of the state that comes in, and what is asked for.

    `needed` numbers of the state are asked for, and `statements` are those of the scripts that serve to find them.
    """

    work: Pass
    scripts: tuple[Script, ...]
    entries: tuple[Pattern, ...]
    needed: frozenset[int]
    statements: tuple[list[Statement], ...]


class Weaver:
    """Finds what is known of the states of one pass."""

    def __init__(self, plan: Plan, work: Pass, known: dict[Slot, Value]) -> None:
        self.plan, self.work, self._known = plan, work, known
        self._scripts: dict[int, Script] = {}
        self._entries: dict[int, Pattern] = {}
        self._written_for: dict[int, tuple[Pattern | None, ...]] = {}
        self._out: dict[tuple[int, int], Pattern] = {}  # what each link hands on
        self._inbox: dict[tuple[int, int], Pattern] = {}  # what it is handed, where it forks or its run ends
        self._place = {
            link.row: (run.kind, k % len(plan.kinds[run.kind].sites))
            for run in plan.runs
            for k, link in enumerate(run.links)
        }

    def settle(self) -> None:
        """Write the scripts of all kinds until nothing changes."""
        order = self.plan.kinds[::-1] if self.work.inward else self.plan.kinds
        changed = True
        while changed:
            changed = False
            for kind in order:
                changed |= self._settle_kind(kind)

    def woven(self, slots: set[Slot]) -> Woven:
        """Give the scripts with what is asked for: `slots` by later passes."""
        needed: set[int] = set()
        kinds = range(len(self.plan.kinds))

        def wanted(place: Place) -> bool:
            if isinstance(place, Carry):
                return place.number in needed
            if isinstance(place, Area):
                return place.number - self.work.area in needed
            return place in slots if isinstance(place, Slot) else True

        while True:
            statements = tuple(self._scripts[k].alive(wanted) for k in kinds)
            words = {name.text for one in statements for name in names_in(one)}
            found = {i for i, word in enumerate(self.work.words) if word in words}
            fetched = (s.place for one in statements for s in one if isinstance(s, Fetch))
            found |= {place.number - self.work.area for place in fetched if isinstance(place, Area)}
            if found <= needed:
                break
            needed |= found
        entries = tuple(self._entries[k] for k in kinds)
        scripts = tuple(self._scripts[k] for k in kinds)
        return Woven(self.work, scripts, entries, frozenset(needed), statements)

    def _settle_kind(self, kind: Kind) -> bool:
        k, last = kind.sites[0].kind, len(kind.sites) - 1
        first = last if self.work.inward else 0
        came = [state for run in kind.runs if (state := self._begins(kind, run)) is not None]
        if kind.repeats and (around := self._out.get((k, last - first))):
            came.append(around)
        if k in self._entries:
            came.append(self._entries[k])
        entry = _joined(came)
        boxes = tuple(self._inbox.get((k, site.position)) for site in kind.sites)
        if (entry, boxes) == (self._entries.get(k), self._written_for.get(k)):
            return False
        self._entries[k], self._written_for[k] = entry, boxes
        self._scripts[k] = self._write(kind, entry)
        if self.work.inward:
            for run in kind.runs:
                self._hand(run.links[0].parent, self._out[k, 0])
        return True

    def _begins(self, kind: Kind, run: Run) -> Pattern | None:
        """Give the state with which a run begins, where anything is known of it."""
        if self.work.inward:
            end = (run.kind, len(kind.sites) - 1)
            nothing = (0.0,) * len(self.work.words)
            return self._inbox.get(end, nothing) if kind.leads_on else nothing
        parent = run.links[0].parent
        return self.work.ground if parent == 0 else self._out.get(self._place[parent])

    def _hand(self, row: int, state: Pattern) -> None:
        """Note that a link is handed a state, which adds to others."""
        if row > 0:
            before = self._inbox.get(self._place[row], (0.0,) * len(state))
            self._inbox[self._place[row]] = tuple(
                0.0 if own == 0.0 and other == 0.0 else None for own, other in zip(before, state, strict=True)
            )

    def _write(self, kind: Kind, entry: Pattern) -> Script:
        script, work = Script(), self.work
        state: list[Value] = [name(word) if x is None else x for word, x in zip(work.words, entry, strict=True)]
        for site in kind.sites[::-1] if work.inward else kind.sites:
            place = (site.kind, site.position)
            areas = [Area(*place, work.area + i) for i in range(len(state))]
            if work.inward and site.forks:
                box = self._inbox.get(place, (0.0,) * len(state))
                for i, x in enumerate(box):
                    if x is None:
                        state[i] = state[i] + script.fetch(work.words[i].replace("0", "side"), areas[i])
                        script.put(areas[i], 0.0)  # for the next time
            state = list(work.link(Desk(script, site, work.again, self._known), state))
            self._out[place] = tuple(None if isinstance(x, Scalar) else x for x in state)
            if not work.inward and site.forks:
                for area, value in zip(areas, state, strict=True):
                    script.put(area, value)
        for i, value in enumerate(state):
            script.put(Carry(i), value)
        return script


def _joined(patterns: Sequence[Pattern]) -> Pattern:
    """Give what all patterns say alike."""
    return tuple(column[0] if len(set(column)) == 1 else None for column in zip(*patterns, strict=True))
