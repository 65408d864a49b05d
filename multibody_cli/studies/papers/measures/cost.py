"""Cost of a step or of an evaluation, in the rows of a table or over sizes, beside published times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from multibody_cli.errors import RunFailed
from multibody_cli.spec import Spec
from multibody_cli.studies.bench.measurement import FEWEST_STEPS, evaluate, growth, take_steps
from multibody_cli.studies.bench.options import OUTPUT_DISABLED
from multibody_cli.studies.bench.timing import count_long_enough
from multibody_cli.studies.papers.contract import ROUNDS, Curve, MeasureResult, MeasureSpec, Plot, Prepare
from multibody_cli.studies.papers.measures.least_times import CLOCK, SHORTEST, least_times


class RowSpec(Spec):
    """A scene with its settings, and published times."""

    label: str = Field(description="Name of the row or series in the paper.")
    scene: Path = Field(description="The scene.")
    set: list[str] = Field([], description="Values to replace in the scene, each `KEY=VALUE`.")
    published: list[float] = Field([], description="Published times for each size, s.")


class Measure(MeasureSpec):
    """Times, us, of each row at each size, the least of several blocks.

    Values of row `name`: `name`, the time at the last size, s; `name_times`, those at all sizes; `name_published`, the
    last published one; over sizes `name_growth` and `name_published_growth`, the exponents p of time ~ size^p.
    """

    type: Literal["cost"]
    quantity: Literal["step", "evaluation"] = Field("evaluation", description="The time that is measured.")
    set: list[str] = Field([], description="Values to replace in all scenes, each `KEY=VALUE`.")
    size: str | None = Field(None, description="Key of the scenes that is their size, as in `vars.n`.")
    sizes: list[float] = Field([], description="Values of this key.")
    size_label: str = Field("size", description="Label of the size.")
    rounds: int = Field(ROUNDS, ge=1, description="Timings of each row and size, of which the least counts.")
    rows: dict[str, RowSpec] = Field(min_length=1, description="Rows or series by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Time all rows."""
        rows: list[dict[str, Any]] = []
        values: dict[str, Any] = {}
        curves: list[Curve] = []
        blocks = {
            (name, size): self._block(row, size, prepare) for name, row in self.rows.items() for size in self._sizes()
        }
        found = least_times(blocks, self.rounds)
        for name, row in self.rows.items():
            times = [found.seconds[name, size] for size in self._sizes()]
            rows += list(self._shown(row, times))
            values |= self._values(name, row, times)
            curves.append(Curve(row.label, self.sizes, [1e6 * time for time in times]))
            if row.published and self.sizes:
                published = [1e6 * time for time in row.published]
                curves.append(Curve(f"{row.label}, published", self.sizes, published, published=True))
        plot = Plot(self.size_label, f"time of one {self.quantity}, us", curves, log_x=True, log_y=True)
        return MeasureResult(rows, values, plot if self.sizes else None, found.disturbance)

    def _sizes(self) -> list[float | None]:
        return list(self.sizes) or [None]

    def _block(self, row: RowSpec, size: float | None, prepare: Prepare) -> Callable[[], float]:
        """Return a function that repeats the operation from the start of the scene, and returns its mean time, s."""
        sizing = [] if size is None else [f"{self.size}={size:g}"]
        simulation = prepare(row.scene, [*OUTPUT_DISABLED, *self.set, *row.set, *sizing])
        block = partial(take_steps if self.quantity == "step" else evaluate, simulation, clock=CLOCK)
        fewest = FEWEST_STEPS if self.quantity == "step" else 1
        if not block(fewest).succeeded:
            raise RunFailed(f"{simulation.scene.name}: the first {fewest} steps diverge")
        count = count_long_enough(block, fewest, SHORTEST)

        def mean() -> float:
            timed = block(count)
            return timed.seconds / timed.done

        return mean

    def _shown(self, row: RowSpec, times: list[float]) -> Iterator[dict[str, Any]]:
        for k, (size, time) in enumerate(zip(self._sizes(), times, strict=True)):
            sizing = {} if size is None else {self.size_label: size}
            published = 1e6 * row.published[k] if k < len(row.published) else None
            yield {"row": row.label, **sizing, "published, us": published, "here, us": 1e6 * time}

    def _values(self, name: str, row: RowSpec, times: list[float]) -> dict[str, Any]:
        values: dict[str, Any] = {name: times[-1], f"{name}_times": times}
        if row.published:
            values[f"{name}_published"] = row.published[-1]
        for key, costs in ((f"{name}_growth", times), (f"{name}_published_growth", row.published)):
            fit = growth(self.sizes, costs) if len(costs) == len(self.sizes) > 1 else None
            if fit is not None:
                values[key] = fit.exponent
        return values
