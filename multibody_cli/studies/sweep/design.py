"""Design of a sweep: which value each key has in each run.

Factors are combined to a grid, the last one fastest.  The keys of one factor vary together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.document.table_file import NO_UNIT, TableFile, read_table
from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable
from multibody_cli.limits import Usage, require_within
from multibody_cli.model import Floats
from multibody_cli.spec.units import split_quantity
from multibody_cli.studies.sweep.values import SHOWN, Distribution, read_values, split

_SMALLEST = 2.0**-53
"""Smallest cumulative probability: quantiles at 0 and 1 may be infinite."""


SALTELLI = "saltelli"
"""The scheme of which sensitivity indices are computed; see `indices`."""


class VariedKeys(Immutable):
    """Keys that vary together, their values, one tuple of texts for each row, and the option that sets them."""

    keys: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    option: str = "--vary"


class GridAxis(NamedTuple):
    """Values of a key in a grid: the texts repeat, and `period` successive runs have the same one; and their option."""

    texts: tuple[str, ...]
    period: int
    option: str

    def indices(self, run: Any) -> Any:
        """Return the indices of the texts of a run, or of an array of runs."""
        return run // self.period % len(self.texts)


class RandomSampling(Immutable):
    """How random values are drawn: number, seed, and scheme, a key of `SCHEMES`."""

    samples: int | None = None
    seed: int = 0
    scheme: str = "random"


class Design(Immutable):
    """The values of all runs.

    Parameters
    ----------
    keys
        The keys, in the order of the command line.
    factors
        The factors of the grid, the last one fastest.
    base
        Number of points of Saltelli's design; 0 for another one.
    """

    keys: tuple[str, ...]
    factors: tuple[VariedKeys, ...]
    base: int = 0

    @property
    def count(self) -> int:
        """Number of runs."""
        return math.prod(len(factor.rows) for factor in self.factors)

    @cached_property
    def along(self) -> dict[str, GridAxis]:
        """The values of each key along its factor, in the order of the keys."""
        found, period = {}, self.count
        for factor in self.factors:
            period //= len(factor.rows)
            values = zip(*factor.rows, strict=True)
            found.update(
                {key: GridAxis(texts, period, factor.option) for key, texts in zip(factor.keys, values, strict=True)}
            )
        return {key: found[key] for key in self.keys}

    def texts(self, run: int) -> tuple[str, ...]:
        """Return the values of a run as texts, in the order of the keys."""
        return tuple(one.texts[one.indices(run)] for one in self.along.values())

    def overrides(self, run: int) -> tuple[str, ...]:
        """Return the values of a run as `--set` accepts them."""
        return tuple(f"{key}={text}" for key, text in zip(self.keys, self.texts(run), strict=True))

    def as_given(self, run: int, message: str) -> str:
        """Return a message about a run with the options that give its values, in place of `--set`."""
        for override, along in zip(self.overrides(run), self.along.values(), strict=True):
            message = message.replace(f"--set {override}", f"{along.option} {override}")
        return message


def design_of(
    given: Sequence[str], rows_file: Path | None, sampling: RandomSampling, fixed: Iterable[str] = ()
) -> Design:
    """Make the design of a sweep.

    Parameters
    ----------
    given
        Values of `--vary`, each `KEY=VALUES`, or several of these separated by `;`, whose keys vary together.
    rows_file
        File with a row for each run and a key for each column.
    sampling
        How random values are drawn; all of them are one factor.
    fixed
        Values of `--set`, whose keys must not vary.

    Raises
    ------
    ArgumentError
        A value is invalid, or a key is given twice.
    """
    factors: list[VariedKeys] = []
    keys: list[str] = []
    random: dict[str, Distribution] = {}
    for text in given:
        read = [_assignment(one) for one in split(text, ";")]
        keys += [key for key, _ in read]
        drawn = {key: values for key, values in read if isinstance(values, Distribution)}
        listed = {key: values for key, values in read if not isinstance(values, Distribution)}
        if not random and drawn:
            factors.append(VariedKeys((), ()))  # the place of all random values
        random |= drawn
        if listed:
            factors.append(_together(listed, text))
    if rows_file is not None:
        factors.append(_read_rows(rows_file))
        keys += factors[-1].keys
    if not factors:
        raise ArgumentError(f"nothing varies: add --vary KEY=VALUES, with VALUES {SHOWN}, or --rows FILE.csv")
    _require_different(keys, fixed)
    drawn_factor = _drawn(random, sampling)
    base = 0
    if sampling.scheme == SALTELLI:
        if not random:
            raise ArgumentError("--sampling saltelli needs random keys, as in --vary 'KEY=uniform(LOW, HIGH)'")
        if len(factors) > 1:
            raise ArgumentError("--sampling saltelli varies random keys alone: use --set for other values")
        base = sampling.samples or 0
    design = Design(tuple(keys), tuple(factor if factor.keys else drawn_factor for factor in factors), base)
    require_within("runs", design.count)
    return design


def _assignment(text: str) -> tuple[str, tuple[str, ...] | Distribution]:
    key, equals, values = (word.strip() for word in text.partition("="))
    if not equals or not key:
        raise ArgumentError(f"--vary {text}: expected KEY=VALUES, with VALUES {SHOWN}")
    try:
        return key, read_values(values)
    except ArgumentError as error:
        raise ArgumentError(f"--vary {text}: {error}") from None


def _together(listed: dict[str, tuple[str, ...]], text: str) -> VariedKeys:
    """Return the factor of keys that vary together."""
    counts = {key: len(values) for key, values in listed.items()}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {key}" for key, count in counts.items())
        raise ArgumentError(f"--vary {text}: keys that vary together have equally many values, found {found}")
    return VariedKeys(tuple(listed), tuple(zip(*listed.values(), strict=True)))


def _require_different(keys: Sequence[str], fixed: Iterable[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise ArgumentError(f"`{key}` varies twice: give each key once")
    for text in fixed:
        if text.partition("=")[0].strip() in keys:
            raise ArgumentError(f"--set {text}: `{text.partition('=')[0]}` varies as well: remove one of them")


# --- random values ------------------------------------------------------------------------------------------------
def _latin_hypercube(count: int, dimensions: int, seed: int) -> Floats:
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(dimensions, seed=seed).random(count))


def _sobol(count: int, dimensions: int, seed: int) -> Floats:
    from scipy.stats import qmc

    # the first points of a power of two, which SciPy asks for
    return np.asarray(qmc.Sobol(dimensions, seed=seed).random_base2(max(0, (count - 1).bit_length()))[:count])


def _saltelli(count: int, dimensions: int, seed: int) -> Floats:
    """Return points A and B, and for each dimension the points A with the values of this dimension from B."""
    from scipy.stats import qmc

    if count & (count - 1):
        raise ArgumentError(f"--samples {count}: --sampling saltelli needs a power of two")
    both = np.asarray(qmc.Sobol(2 * dimensions, seed=seed).random_base2(count.bit_length() - 1))
    A, B = both[:, :dimensions], both[:, dimensions:]
    mixed = [np.where(np.arange(dimensions) == k, B, A) for k in range(dimensions)]
    return np.concatenate([A, B, *mixed])


SCHEMES = {
    "random": lambda count, dimensions, seed: np.random.default_rng(seed).random((count, dimensions)),
    "lhs": _latin_hypercube,
    "sobol": _sobol,
    SALTELLI: _saltelli,
}
"""Schemes of random samples in the unit cube: function of number, dimensions and seed."""


def _drawn(random: dict[str, Distribution], sampling: RandomSampling) -> VariedKeys:
    """Return the factor of all random values."""
    if not random:
        if sampling.samples is not None:
            raise ArgumentError("--samples needs a random value, as in --vary KEY='uniform(0, 1)'")
        return VariedKeys((), ())
    if sampling.samples is None:
        raise ArgumentError(f"{next(iter(random))} is random: give the number of values with --samples")
    require_within("runs", sampling.samples)
    points = SCHEMES[sampling.scheme](sampling.samples, len(random), sampling.seed).clip(_SMALLEST, 1.0 - _SMALLEST)
    columns = [one.texts(points[:, index]) for index, one in enumerate(random.values())]
    return VariedKeys(tuple(random), tuple(zip(*columns, strict=True)))


# --- a file of rows -----------------------------------------------------------------------------------------------
def _read_rows(path: Path) -> VariedKeys:
    """Read a file: the header has the keys, with optional units, and each line the values of a run.

    Raises
    ------
    ArgumentError
        The file cannot be read, a line has too few or too many values, or a value has a unit beside that of its column.
    """
    table = read_table(path, Usage())
    keys = tuple(heading.name for heading in table.headings)
    if "" in keys:
        raise ArgumentError(f"{path}:{table.line}: expected a key, with an optional unit, as in `vars.a (deg)`")
    if table.in_degrees:
        raise ArgumentError(f"{path}: `inDegrees=yes` has no meaning for keys of a scene: write units in the headings")
    for index in range(len(keys)):
        table.unit_of(index)
    rows = tuple(tuple(_values(table, number, row)) for number, row in table.rows)
    if not rows:
        raise ArgumentError(f"--rows {path}: expected a header with the keys and a line for each run")
    require_within("runs", len(rows))
    return VariedKeys(keys, rows, f"--rows {path}:")


def _values(table: TableFile, line: int, row: Sequence[str]) -> Iterator[str]:
    for index, (heading, text) in enumerate(zip(table.headings, row, strict=True)):
        unit = heading.unit.replace(NO_UNIT, "")
        if not text:
            raise table.error(line, index, "the value is missing")
        if unit and (split_quantity(text) or ("", text))[1]:
            found = f"expected a number without a unit, found `{text}`"
            raise table.error(line, index, f"the heading has the unit {unit}: {found}")
        yield f"{text} {unit}" if unit else text
