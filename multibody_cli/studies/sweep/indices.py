"""Sensitivity indices of Sobol: the shares of the variance of a kept number that the random keys cause.

A sweep with `--sampling saltelli` has N points A, N points B, and for each key the points A with the values of this
key from B.  The first-order index of a key is the share of the variance that it causes alone, its main effect; the
total index is the share that it takes part in.

Source: Saltelli et al., Comput. Phys. Commun. 181 (2010), by `scipy.stats.sobol_indices`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.output.sweep_table import SweepTable

CONFIDENCE = 0.95
"""Level of the confidence intervals, by bootstrap."""


class Indices(Immutable):
    """Indices of a kept number with respect to a key, with half the widths of their confidence intervals."""

    column: str
    key: str
    first: float
    first_error: float
    total: float
    total_error: float


def base_of(table: SweepTable) -> int:
    """Return the number N of points of Saltelli's design; 0 if the table has another design."""
    definition: Any = json.loads(str(table.attributes.get("definition", "{}")))
    found = definition.get("saltelli", 0) if isinstance(definition, dict) else 0
    return found if isinstance(found, int) and found * (len(table.keys) + 2) == table.count else 0


def sobol_indices(table: SweepTable) -> list[Indices]:
    """Return the indices of all kept numbers that vary and that every run has, for each key.

    Parameters
    ----------
    table
        A complete table whose `base_of` is not 0.
    """
    from scipy import stats

    base, count = base_of(table), len(table.keys)
    columns = [column.name for column in table.of_role("result")]
    values = np.array([table.read(name) for name in columns]).reshape(len(columns), count + 2, base)
    varies = np.isfinite(values).all(axis=(1, 2)) & (np.ptp(values, axis=(1, 2)) > 0.0)
    chosen = values[varies]
    if not len(chosen):
        return []
    evaluated = {"f_A": chosen[:, 0], "f_B": chosen[:, 1], "f_AB": np.moveaxis(chosen[:, 2:], 1, 0)}
    found = stats.sobol_indices(func=evaluated, n=base, rng=np.random.default_rng(0))
    spread = found.bootstrap(confidence_level=CONFIDENCE, n_resamples=999)
    kinds = ((found.first_order, spread.first_order), (found.total_order, spread.total_order))
    parts = []
    for index, one in kinds:
        interval = one.confidence_interval
        parts += [np.reshape(index, (len(chosen), count)), np.reshape(interval.high - interval.low, (-1, count)) / 2]
    names = [name for name, wanted in zip(columns, varies, strict=True) if wanted]
    return [
        Indices(name, key.name, *(float(part[i, k]) for part in parts))
        for i, name in enumerate(names)
        for k, key in enumerate(table.keys)
    ]
