"""Changes of energy over runs of scenes: T + V at the end, minus V at the start, as a column of published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from multibody_cli.errors import RunFailed
from multibody_cli.spec import Spec
from multibody_cli.studies.bench.options import OUTPUT_DISABLED
from multibody_cli.studies.papers.contract import MeasureResult, MeasureSpec, Prepare


class RowSpec(Spec):
    """A scene with its published number."""

    scene: Path = Field(description="The scene.")
    set: list[str] = Field([], description="Values to replace in the scene, each `KEY=VALUE`.")
    published: float = Field(description="The published change of energy.")
    exact: float | None = Field(None, description="The exact change of energy, where it is known.")
    unit: float = Field(1.0, gt=0.0, description="Unit of these numbers, in units of energy of the scene.")
    remark: str | None = Field(None, description="Reason of a difference.")


class Measure(MeasureSpec):
    """Changes of energy, each beside its published number.

    Values, each a number of scenes: `scenes`, of all; `equal`, of those that agree with the published number within the
    tolerance; `explained`, of those and of the others that have a remark; `exact`, of those that agree with the exact
    number; `alike`, of those that agree with a run with the values `beside`.  The last two are relative to the largest
    kinetic energy or change of the potential one.
    """

    type: Literal["energy_change"]
    set: list[str] = Field([], description="Values to replace in all scenes.")
    tolerance: float = Field(gt=0.0, description="Relative tolerance of equal numbers; absolute below 1.")
    beside: list[str] = Field([], description="Values to replace in a second run of each scene, instead of `set`.")
    rows: dict[str, RowSpec] = Field(min_length=1, description="The scenes by the names of the paper.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Run the scenes."""
        values = dict.fromkeys(("scenes", "equal", "explained", "exact", "alike"), 0)
        rows = [self._row(name, row, prepare, values) for name, row in self.rows.items()]
        shown = [{**row, **_with_digits(row), "equal": "yes" if row["equal"] else "no"} for row in rows]
        return MeasureResult(shown, values)

    def _row(self, name: str, row: RowSpec, prepare: Prepare, values: dict[str, int]) -> dict[str, Any]:
        found, size = self._change(row, prepare, self.set)
        equal = abs(found - row.published) <= self.tolerance * max(1.0, abs(row.published))
        values["scenes"] += 1
        values["equal"] += equal
        values["explained"] += equal or row.remark is not None
        values["exact"] += row.exact is not None and abs(found - row.exact) <= self.tolerance * size
        if self.beside:
            values["alike"] += abs(found - self._change(row, prepare, self.beside)[0]) <= self.tolerance * size
        numbers = {"published": row.published, "here": found, "exact": row.exact, "difference": found - row.published}
        return {"scene": name, **numbers, "equal": equal, "remark": None if equal else row.remark}

    def _change(self, row: RowSpec, prepare: Prepare, settings: list[str]) -> tuple[float, float]:
        """Return the change of energy, and the size of its parts."""
        simulation = prepare(row.scene, [*OUTPUT_DISABLED, *settings, *row.set])
        summary, run = simulation.run_in_memory(["energy/total", "energy/kinetic"])
        if not summary.outcome.reached_end:
            raise RunFailed(f"{simulation.scene.name}: {summary.outcome.message}")
        total, kinetic = (run.channel(f"energy/{kind}").values for kind in ("total", "kinetic"))
        potential = total - kinetic
        size = max(kinetic.max(), abs(potential - potential[0]).max())
        return float(total[-1] - potential[0]) / row.unit, float(size) / row.unit


def _with_digits(row: dict[str, Any]) -> dict[str, str]:
    return {key: f"{row[key]:.10g}" for key in ("published", "here", "exact") if row[key] is not None}
