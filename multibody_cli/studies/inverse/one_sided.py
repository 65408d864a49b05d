"""One-sided rows of a given motion: ropes stay taut, and limits have no forces.

A table does not state which ropes are taut.  The sections that are taut at the start of the scene are equality rows
here: they determine coordinates, and carry tensions.  With the rows G of a motion and the forces that remain beside
those of all drives,

    G^T lambda = M a + bias - B f,

a tension lambda below 0 is that of a rope that would have to press: the motion slackens it.  All other one-sided rows,
as limits and slack ropes, have no forces, so that a motion at or beyond one of them is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraint_solver.active_rows import ACTIVATION_TOLERANCE
from multibody_cli.immutable import replace
from multibody_cli.initial.initial_state import placed
from multibody_cli.kernel import Flags, Floats, frozen
from multibody_cli.model import Model, State
from multibody_cli.packing.ropes import ropes_of
from multibody_cli.studies.inverse.equality_rows import EqualityRows

PRESSES = 1e-9
"""Tension below 0, relative to the largest one of the motion, that is more than round-off."""


def with_taut_ropes(model: Model, state: State) -> Model:
    """Return the model in which the sections of ropes that are taut at a state, its start, are equality rows."""
    taut = _one_sided_sections(model)
    taut[taut] = placed(model, state).rows["error"][taut] <= ACTIVATION_TOLERANCE * model.system.tree.length
    if not taut.any():
        return model
    rows = model.system.rows.copy()
    rows["one_sided"][taut], rows["active"][taut] = 0, 1
    return replace(model, system=model.system._replace(rows=frozen(rows)))


def _one_sided_sections(model: Model) -> Flags:
    """Return which rows (m,) are those of ropes."""
    numbers = np.arange(len(model.system.rows))
    found: Flags = np.isin(numbers, ropes_of(model.system)["first_row"]) & (model.system.rows["one_sided"] == 1)
    return found


class OneSidedRows:
    """Tensions of ropes along a motion, and the one-sided rows without forces that it reaches.

    Parameters
    ----------
    model
        The model of the scene.
    rows
        The equality rows of `with_taut_ropes`.
    """

    def __init__(self, model: Model, rows: EqualityRows) -> None:
        self._model, self._rows = model, rows
        self._tensions, self._errors = list[Floats](), list[Floats]()

    def observe(self, unbalanced: Floats) -> None:
        """Record an instant with the forces (n,) on coordinates that remain beside those of all drives."""
        rows = self._rows
        scales, equal = rows.scales[rows.free], rows.equalities()
        tensions, errors = np.full(len(equal), np.nan), np.full(len(equal), np.nan)
        if equal.any():
            tensions[equal] = np.linalg.lstsq((rows.G * scales).T, scales * unbalanced[rows.free], 1e-10)[0]
        beside = rows.work.rows["one_sided"] == 1
        errors[beside] = rows.limits()[1]
        self._tensions.append(tensions)
        self._errors.append(errors)

    def remarks(self, times: Floats) -> Iterator[str]:
        """Report ropes that would have to press, and one-sided rows that act without a force here."""
        near = ACTIVATION_TOLERANCE * self._model.system.tree.length
        for r in np.flatnonzero(self._model.system.rows["one_sided"] == 1):
            row = self._model.names.rows[r]
            tension, error = (np.array([one[r] for one in own]) for own in (self._tensions, self._errors))
            presses, acts = tension < -PRESSES * np.abs(tension).max(), error <= near
            if presses.any():
                k, count = int(np.argmin(tension)), np.count_nonzero(presses)
                yield (
                    f"{row.section}.{row.element} would have to press, {row.direction}, at {count} of {len(times)} "
                    f"instants, by {-tension[k]:.3g} N at t = {times[k]:g} s: the motion would slacken it"
                )
            if acts.any():
                first, count = times[np.argmax(acts)], np.count_nonzero(acts)
                yield (
                    f"{row.section}.{row.element} is reached, {row.direction}, at {count} of {len(times)} instants, "
                    f"first at t = {first:g} s, and has no force here: the forces on coordinates include it"
                )
