"""Runs of experiments, and verdicts on their claims."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from multibody_cli.expressions import TEMPLATE, parse
from multibody_cli.studies.papers.contract import ClaimSpec, ClaimVerdict, Grade, MeasureResult, Prepare, Reproduction
from multibody_cli.studies.papers.reading import PaperSpec
from multibody_cli.studies.simulation import PreparedSimulation

DISTURBED = 0.05
"""Share of the processor of other programs from which on times are not trusted."""


def reproduce(
    folder: Path,
    paper: PaperSpec,
    only: Sequence[str],
    prepare: Prepare,
    announce: Callable[[str], None],
) -> Iterator[Reproduction]:
    """Run the experiments of a paper in its order.

    Parameters
    ----------
    folder
        Folder to which the paths of scenes are relative.
    paper
        The paper.
    only
        Names of the experiments; empty for all.
    prepare
        Prepares a scene.
    announce
        Receives the title of each experiment before it is run.

    Raises
    ------
    MbsimError
        A scene is invalid, or cannot be measured.
    """

    def prepare_there(scene: Path, overrides: Sequence[str]) -> PreparedSimulation:
        return prepare(Path(os.path.normpath(folder / scene)), overrides)

    for name, experiment in paper.experiments.items():
        if only and name not in only:
            continue
        announce(experiment.title)
        outcome = experiment.measure.measure(prepare_there)
        verdicts = [judge(claim, outcome) for claim in experiment.claims]
        shown = outcome._replace(rows=_without_empty_columns(outcome.rows))
        yield Reproduction(name, experiment.title, experiment.source, shown, verdicts)


def judge(claim: ClaimSpec, outcome: MeasureResult) -> ClaimVerdict:
    """Return the verdict on a claim about the values of an experiment."""
    measured = _compared(claim.holds, outcome.values)
    if claim.better is not None and parse(claim.better, TEMPLATE).evaluate(outcome.values):
        return ClaimVerdict(claim.text, Grade.BETTER, None, measured)
    if parse(claim.holds, TEMPLATE).evaluate(outcome.values):
        return ClaimVerdict(claim.text, Grade.HOLDS, None, measured)
    return ClaimVerdict(claim.text, Grade.FAILS, claim.because or _disturbance(outcome), measured)


def _compared(condition: str, values: Mapping[str, Any]) -> str:
    """Return the sides of the comparisons of a condition that are no numbers, with their values."""
    nodes = [node for node in ast.walk(parse(condition, TEMPLATE).body) if isinstance(node, ast.Compare)]
    sides = dict.fromkeys(ast.unparse(side) for node in nodes for side in (node.left, *node.comparators))
    found = {side: parse(side, TEMPLATE) for side in sides}
    numbers = {side: one.evaluate(values) for side, one in found.items() if one.names}
    return ", ".join(f"{side} = {x:.3g}" for side, x in numbers.items() if isinstance(x, int | float))


def _disturbance(outcome: MeasureResult) -> str | None:
    if outcome.disturbance < DISTURBED:
        return None
    return f"other programs had the processor for {outcome.disturbance:.0%} of the timings: repeat on a quiet machine"


def _without_empty_columns(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    kept = [key for key in rows[0] if any(row[key] is not None for row in rows)]
    return [{key: row[key] for key in kept} for row in rows]
