"""Packing of constraint rows: their constants and their names."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints.reduction import DEPENDENT, REDUCTION_TERM, Reductions
from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.kernel import frozen, records
from multibody_cli.model import Records, RowName


@dataclass
class RowPacker:
    """Allocates the tables of rows and of terms; `spans` has the first row and the end of each element."""

    names: list[RowName] = field(default_factory=list)
    spans: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _rows: list[np.void] = field(default_factory=list)
    _terms: int = 0

    @property
    def next_row(self) -> int:
        """Number of the next row."""
        return len(self._rows)

    @property
    def next_term(self) -> int:
        """Number of its first term."""
        return self._terms

    def add(
        self,
        name: RowName,
        terms: int,
        *,
        holonomic: bool = True,
        one_sided: bool = False,
        account: int = -1,
        drive: int = -1,
        restitution: float = 0.0,
    ) -> int:
        """Add a row with `terms` terms; return its number."""
        row = np.zeros(1, ROW)[0]
        row["first_term"], row["last_term"] = self._terms, self._terms + terms
        row["holonomic"], row["one_sided"], row["active"] = holonomic, one_sided, not one_sided
        row["account"], row["drive"], row["restitution"] = account, drive, restitution
        row["weight"] = row["speed"] = 1.0
        self._rows.append(row)
        self._terms += terms
        self.names.append(name)
        return len(self._rows) - 1

    def mark_primary(self, inboard_joints: Records) -> None:
        """Mark the rows of these joints as primary: the method enforces them itself."""
        for holder in inboard_joints:
            for row in self._rows[holder["first_row"] : holder["last_row"]]:
                row["primary"] = True

    def pack(self) -> tuple[Records, Records]:
        """Return the tables; work arrays start as copies of them."""
        rows, terms = np.array(self._rows, ROW), np.zeros(self._terms, TERM)
        terms["iv"] = -1
        return frozen(rows), frozen(terms)


def name_of_constraint_axis(joint: str, constraint_axis: np.void) -> RowName:
    """Name a constraint axis: along or about an axis of the joint frame, or oblique."""
    for kind, words in (("f", "along"), ("t", "about")):
        for axis, letter in enumerate("xyz"):
            if abs(constraint_axis[kind][axis]) == 1.0:
                return RowName("joints", joint, f"{words} {letter}")
    return RowName("joints", joint, "in an oblique direction")


# --- packing of reduced couplings into `Reductions`: elimination of dependent coordinates -----------------------------
Place = tuple[int, int]
"""Index of a coordinate in q and in v."""

NEGLIGIBLE = 1e-12
"""A coefficient below this, relative to the largest of its relation, is round-off of the elimination."""


@dataclass
class ReductionPacker:
    """Collects relations sum c_k q_k = value; solves each for one coordinate in terms of independent ones."""

    fixed: NDArray[np.bool_]  # (nv,) coordinates that cannot depend on others: their motion is prescribed
    solved: dict[Place, tuple[dict[Place, float], float]] = field(default_factory=dict)

    def add(self, relation: dict[Place, float], value: float) -> bool:
        """Add a relation; return whether it determines a coordinate.

        The dependent coordinate is the first one of the relation that is neither prescribed nor dependent already.
        """
        largest = max(abs(coefficient) for coefficient in relation.values())
        known, rest = self._in_independent(relation, value)
        candidates = [place for place, c in known.items() if abs(c) > NEGLIGIBLE * largest and not self.fixed[place[1]]]
        if not candidates:
            return False
        chosen = candidates[0]
        pivot = known.pop(chosen)
        self._substitute(chosen, {place: -c / pivot for place, c in known.items()}, rest / pivot)
        return True

    def pack(self) -> Reductions:
        """Return the tables."""
        dependents: list[tuple[int, int, int, int, float]] = []
        reduction_terms: list[tuple[int, int, float]] = []
        for (iq, iv), (terms, offset) in self.solved.items():
            dependents.append((iq, iv, len(reduction_terms), len(reduction_terms) + len(terms), offset))
            reduction_terms += [(*place, coefficient) for place, coefficient in terms.items()]
        return Reductions(records(np.array(dependents, DEPENDENT)), records(np.array(reduction_terms, REDUCTION_TERM)))

    def _in_independent(self, relation: dict[Place, float], value: float) -> tuple[dict[Place, float], float]:
        known: dict[Place, float] = {}
        for place, coefficient in relation.items():
            terms, offset = self.solved.get(place, ({place: 1.0}, 0.0))
            value -= coefficient * offset
            for other, share in terms.items():
                known[other] = known.get(other, 0.0) + coefficient * share
        return known, value

    def _substitute(self, chosen: Place, terms: dict[Place, float], offset: float) -> None:
        for place, (others, constant) in self.solved.items():
            if chosen in others:
                share = others.pop(chosen)
                for other, coefficient in terms.items():
                    others[other] = others.get(other, 0.0) + share * coefficient
                self.solved[place] = others, constant + share * offset
        self.solved[chosen] = terms, offset
