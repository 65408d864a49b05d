"""Reduced couplings into `Reductions`: which coordinates depend on which, by elimination."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints.reduction import DEPENDENT, SHARE, Reductions
from multibody_cli.kernel import records

Place = tuple[int, int]
"""Where a coordinate lies in q and in v."""

NEGLIGIBLE = 1e-12
"""A coefficient below this, relative to the largest of its relation, is round-off of the elimination."""


@dataclass
class ReductionPacker:
    """Collects relations sum c_k q_k = value and solves each for one coordinate, in terms of independent ones."""

    fixed: NDArray[np.bool_]  # (nv,) coordinates that cannot depend on others: their motion is prescribed
    solved: dict[Place, tuple[dict[Place, float], float]] = field(default_factory=dict)

    def add(self, relation: dict[Place, float], value: float) -> bool:
        """Add a relation; whether any coordinate was left that can follow the others.

        The first one in the order of the relation follows, unless it is prescribed or follows already.
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
        """Give the tables."""
        dependents: list[tuple[int, int, int, int, float]] = []
        shares: list[tuple[int, int, float]] = []
        for (iq, iv), (terms, offset) in self.solved.items():
            dependents.append((iq, iv, len(shares), len(shares) + len(terms), offset))
            shares += [(*place, coefficient) for place, coefficient in terms.items()]
        return Reductions(records(np.array(dependents, DEPENDENT)), records(np.array(shares, SHARE)))

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
