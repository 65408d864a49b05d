"""Rows of restraint: what does not change about them, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.kernel import records
from multibody_cli.model import Records, RestraintEntry, RowName


@dataclass
class RowPacker:
    """Hands out places in the tables of rows and of terms."""

    names: list[RowName] = field(default_factory=list)
    entries: list[RestraintEntry] = field(default_factory=list)
    _rows: list[np.void] = field(default_factory=list)
    _terms: int = 0

    @property
    def next_row(self) -> int:
        """The row that the next call of `add` hands out."""
        return len(self._rows)

    @property
    def next_term(self) -> int:
        """Its first term."""
        return self._terms

    def add(
        self,
        name: RowName,
        terms: int,
        *,
        holonomic: bool = True,
        one_sided: bool = False,
        account: int = -1,
    ) -> int:
        """Add a row of so many terms; its number."""
        row = np.zeros(1, ROW)[0]
        row["first_term"], row["last_term"] = self._terms, self._terms + terms
        row["holonomic"], row["one_sided"], row["active"] = holonomic, one_sided, not one_sided
        row["account"] = account
        self._rows.append(row)
        self._terms += terms
        self.names.append(name)
        return len(self._rows) - 1

    def enter(self, section: str, name: str, first: int, locks: int) -> None:
        """Name what the rows from `first` on belong to; the first `locks` rows are those of closures."""
        self.entries.append(RestraintEntry(section, name, slice(first - locks, self.next_row - locks)))

    def hold(self, holders: Records) -> None:
        """Leave the rows that hold bodies to the method."""
        for holder in holders:
            for row in self._rows[holder["first_row"] : holder["last_row"]]:
                row["primary"] = True

    def pack(self) -> tuple[Records, Records]:
        """Give the tables; work arrays start as copies of them."""
        rows, terms = np.array(self._rows, ROW), np.zeros(self._terms, TERM)
        terms["iv"] = -1
        rows.flags.writeable = terms.flags.writeable = False
        return records(rows), records(terms)


def name_of_lock(joint: str, lock: np.void) -> RowName:
    """Words for a direction that a closure locks: along or about an axis of the joint frame, where it is one."""
    for kind, words in (("f", "along"), ("t", "about")):
        for axis, letter in enumerate("xyz"):
            if abs(lock[kind][axis]) == 1.0:
                return RowName("joints", joint, f"{words} {letter}")
    return RowName("joints", joint, "in an oblique direction")
