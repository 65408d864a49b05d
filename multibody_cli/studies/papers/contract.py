"""Experiments of papers: measures, claims about their values, and outcomes.

A paper is a YAML file of `scenes/papers/` with one experiment for each table or figure, in the order of the paper.  An
experiment has a measure (`measures/`), which returns a table, named values and curves, and claims, which are
expressions of these values.  A measure is a `MeasureSpec`: a file with its spec, and an entry in
`measures/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from multibody_cli.immutable import Immutable
from multibody_cli.spec import Spec
from multibody_cli.studies.simulation import PreparedSimulation

Prepare = Callable[[Path, Sequence[str]], PreparedSimulation]
"""Prepares a scene, whose path is relative to the file of the paper, with replaced values."""


class Curve(NamedTuple):
    """A curve or, if `published`, a series of the paper: points without a line."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    published: bool = False


class Plot(NamedTuple):
    """Axes of the paper with its curves."""

    x: str
    y: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False


class MeasureResult(NamedTuple):
    """Result of a measure.

    Parameters
    ----------
    rows
        The table, with equal keys.
    values
        Values that claims name.
    plot
        The figure, where the paper has one.
    disturbance
        Share of the time of timings in which other programs had the processor.
    """

    rows: Sequence[Mapping[str, Any]]
    values: Mapping[str, float]
    plot: Plot | None = None
    disturbance: float = 0.0


ROUNDS = 15
"""Default number of timings of each operation."""


class MeasureSpec(Spec):
    """A measure with its options; subclasses implement `measure`."""

    type: str

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Run the experiment.

        Raises
        ------
        MbsimError
            A scene is invalid, or cannot be measured.
        """
        raise NotImplementedError


class SizedSpec(MeasureSpec):
    """A measure of one scene over sizes."""

    scene: Path = Field(description="The scene.")
    set: list[str] = Field([], description="Values to replace in the scene, each `KEY=VALUE`.")
    size: str = Field(description="Key of the scene that is its size, as in `vars.n`.")
    sizes: list[int] = Field(min_length=1, description="Values of this key.")
    rounds: int = Field(ROUNDS, ge=1, description="Timings of each size, of which the least counts.")


class ClaimSpec(Spec):
    """A claim of a paper as a condition on values of an experiment."""

    text: str = Field(description="The claim, in words.")
    holds: str = Field(description="Condition under which it holds, as in `rc100/rc50 < 2.6`.")
    better: str | None = Field(None, description="Condition under which the result is better than the claim.")
    because: str | None = Field(None, description="Reason why it does not hold here.")


class Grade(StrEnum):
    """Verdict on a claim."""

    HOLDS = "holds"
    BETTER = "holds better"
    FAILS = "does not hold"


class ClaimVerdict(Immutable):
    """A claim with its grade.

    `reason` is the one of a claim that does not hold, None if no reason is known.  `measured` has the values that the
    condition of the claim compares, as in `loops/plane = 1.4`.
    """

    claim: str
    grade: Grade
    reason: str | None
    measured: str = ""

    @property
    def is_unexplained(self) -> bool:
        """Whether the claim does not hold, without a known reason."""
        return self.grade is Grade.FAILS and self.reason is None

    def __str__(self) -> str:
        if self.grade is not Grade.FAILS:
            return str(self.grade)
        return f"{self.grade}, because {self.reason}" if self.reason else f"{self.grade}, and no reason is known"


class Reproduction(Immutable):
    """An experiment that was run."""

    name: str
    title: str
    source: str
    outcome: MeasureResult
    verdicts: Sequence[ClaimVerdict]
