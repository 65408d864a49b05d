"""Packing of constraint rows: their constants and their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints.code_buffers import CodeBuffers
from multibody_cli.constraints.reduction import DEPENDENT, REDUCTION_TERM, Reductions
from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.kernel import allocate, frozen, records
from multibody_cli.model import Records, RowName

UNREACHED = 1e6
"""Error of a row that does not act, m or rad."""


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
        active: bool = True,
        is_written: bool = False,
    ) -> int:
        """Add a row with `terms` terms; return its number.

        One that is not `active` is a limit without terms that is never reached: no record writes it, unless it
        `is_written`, as a slack rope with terms that nothing reads.
        """
        row = np.zeros(1, ROW)[0]
        if not active:
            terms, one_sided, row["error"] = terms if is_written else 0, True, UNREACHED
        row["first_term"], row["last_term"] = self._terms, self._terms + terms * active
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

    def pack(self, account: int = -1) -> tuple[Records, Records]:
        """Return the tables; work arrays start as copies of them.  Equalities without an account have this one."""
        rows, terms = np.array(self._rows, ROW), np.zeros(self._terms, TERM)
        terms["iv"] = -1
        rows["account"][(rows["account"] < 0) & (rows["one_sided"] == 0)] = account
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
    """Collects dependent coordinates: functions of others, and relations sum c_k q_k = value.

    Each relation is solved for one coordinate in terms of others that no relation determines.
    """

    fixed: NDArray[np.bool_]  # (nv,) coordinates that cannot depend on others: their motion is prescribed
    maps: dict[Place, tuple[list[Place], int]] = field(default_factory=dict)  # inputs, and the address of the code
    solved: dict[Place, tuple[dict[Place, float], float]] = field(default_factory=dict)

    def add_map(self, output: Place, inputs: list[Place], address: int) -> bool:
        """Make a coordinate a generated function of others; return whether it can be one.

        All functions precede the relations.
        """
        if self.fixed[output[1]] or output in self.maps:
            return False
        self.maps[output] = inputs, address
        return True

    def add(self, relation: dict[Place, float], value: float) -> bool:
        """Add a relation; return whether it determines a coordinate.

        The dependent coordinate is the first one of the relation that is neither prescribed nor dependent already, nor
        the output of a function.
        """
        largest = max(abs(coefficient) for coefficient in relation.values())
        known, rest = self._in_independent(relation, value)
        counted = [place for place, c in known.items() if abs(c) > NEGLIGIBLE * largest]
        candidates = [place for place in counted if not self.fixed[place[1]] and place not in self.maps]
        if not candidates:
            return False
        chosen = candidates[0]
        pivot = known.pop(chosen)
        self._substitute(chosen, {place: -c / pivot for place, c in known.items()}, rest / pivot)
        return True

    def order(self) -> list[Place]:
        """Return the dependent coordinates, each after those on which it depends.

        Raises
        ------
        CycleError
            If coordinates depend on each other; its second argument is a list of their places, from one to itself.
        """
        inputs_of = {place: list(terms) for place, (terms, _) in self.solved.items()}
        inputs_of |= {place: inputs for place, (inputs, _) in self.maps.items()}
        return list(
            TopologicalSorter(
                {place: [one for one in inputs if one in inputs_of] for place, inputs in inputs_of.items()}
            ).static_order()
        )

    def pack(self) -> Reductions:
        """Return the tables, each dependent coordinate after those on which it depends."""
        dependents: list[tuple[int, int, int, int, float, int]] = []
        reduction_terms: list[tuple[int, int, float]] = []
        for iq, iv in self.order():
            if (iq, iv) in self.maps:
                inputs, code = self.maps[iq, iv]
                terms, offset = dict.fromkeys(inputs, 1.0), 0.0
            else:
                (terms, offset), code = self.solved[iq, iv], 0
            first = len(reduction_terms)
            reduction_terms += [(*place, coefficient) for place, coefficient in terms.items()]
            dependents.append((iq, iv, first, len(reduction_terms), offset, code))
        tables = records(np.array(dependents, DEPENDENT)), records(np.array(reduction_terms, REDUCTION_TERM))
        return Reductions(*tables, allocate(CodeBuffers))

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
