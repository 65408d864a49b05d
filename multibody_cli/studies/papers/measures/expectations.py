"""Expectations of scenes, by several methods: how many of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from multibody_cli.spec import Spec
from multibody_cli.studies.expect import evaluate
from multibody_cli.studies.papers.contract import MeasureResult, MeasureSpec, Prepare


class SceneOfPaper(Spec):
    """A scene with expectations, and values to replace in it for some methods."""

    scene: Path = Field(description="The scene.")
    set: dict[str, list[str]] = Field({}, description="Values to replace in the scene, each `KEY=VALUE`, by method.")


class Measure(MeasureSpec):
    """Runs of scenes by several methods, with the number of expectations that hold.

    Values: `scenes`, the number of scenes; `twice`, of those whose expectations all hold by at least two methods.
    """

    type: Literal["expectations"]
    methods: list[str] = Field(min_length=2, description="The methods.")
    rows: dict[str, SceneOfPaper] = Field(min_length=1, description="The scenes by the names of the paper.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Run the scenes."""
        rows, twice = list[dict[str, Any]](), 0
        for name, row in self.rows.items():
            counts = {method: _held(prepare, row, method) for method in self.methods}
            twice += sum(held == expected > 0 for held, expected in counts.values()) >= 2
            shown = {method: f"{held} of {expected}" for method, (held, expected) in counts.items()}
            rows.append({"scene": name, **shown})
        return MeasureResult(rows, {"scenes": len(rows), "twice": twice})


def _held(prepare: Prepare, row: SceneOfPaper, method: str) -> Sequence[int]:
    """Return the number of expectations that hold, and of all."""
    simulation = prepare(row.scene, [f"simulation.method={method}", *row.set.get(method, [])])
    expect = simulation.scene.expect
    summary, run = simulation.run_in_memory()
    if not summary.outcome.reached_end:
        return 0, len(expect)
    verdicts = evaluate(expect, run)
    return sum(verdict.passed for verdict in verdicts), len(verdicts)
