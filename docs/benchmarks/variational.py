"""The published experiments on variational integrators, with the methods of this program.

    OPENBLAS_NUM_THREADS=1 python docs/benchmarks/variational.py [EXPERIMENT...]

Every experiment prints a table; `energy` draws `docs/pictures/variational_energy.png` as well.  To add one, add a
function and its name to `EXPERIMENTS`.

Sources: Bruedigam and Manchester 2020, section 5; Lee, Liu, Park and Srinivasa 2016, section 4.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import variational
from multibody_cli.methods.contract import Report, Status
from multibody_cli.pictures.style import new_figure, save
from multibody_cli.tree.energy import gravity_energy, kinetic_energy

ROOT = Path(__file__).parents[2]
SCENES = ROOT / "scenes"
METHODS = ("variational", "variational_maximal")
BLOCKS = 9
DOUBLE = "validation/double_pendulum_rods.yaml"
WEIGHT = "gravity=[4, 0, -9.81]"
"""Leaning, so that what hangs at rest begins to swing."""


@dataclass
class Bound:
    """A scene with its method at the start."""

    state: Any
    method: Any
    step: float

    def steps(self, count: int) -> Iterator[Report]:
        """Take steps one by one, until one fails."""
        for k in range(1, count + 1):
            report = self.method.advance(self.state, k * self.step)
            yield report
            if report.status is not Status.OK:
                return


def bind(scene: str, method: str, step: float, *settings: str, **options: Any) -> Bound:
    """Prepare a scene of `scenes/` with a method and its options."""
    words = [f"simulation.method={method}", f"simulation.step={step}", "simulation.duration=3600", "expect=[]"]
    words += [
        f"output.every={step}",
        *settings,
        *(f"simulation.options.{key}={value}" for key, value in options.items()),
    ]
    simulation = prepare(SCENES / scene, words)
    state = simulation.fresh_state()
    bound = simulation.method_for(state)
    bound.start(state)
    return Bound(state, bound, step)


def run(scene: str, *settings: str) -> Any:
    """Run a scene; its trajectory, its outcome, and the seconds that took."""
    simulation, sink = prepare(SCENES / scene, [*settings, "expect=[]"]), MemorySink()
    began = time.perf_counter()
    summary = simulation.run(sink)
    return sink.trajectory(), summary, time.perf_counter() - began


def table(*rows: Sequence[Any]) -> None:
    """Print a table; its first row is the head."""
    head, *others = rows
    print("| " + " | ".join(map(str, head)) + " |")
    print("|" + "---|" * len(head))
    for row in others:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


# --- Heun's method ------------------------------------------------------------------------------------------------
def heun(scene: str, step: float, duration: float, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and energies of a run by the explicit method of second order that the paper compares with."""
    bound = bind(scene, "aba", step)
    state, method = bound.state, bound.method
    system, work, powers = method._system, method.work, np.zeros_like(state.ledger)
    evaluate = method.dynamics.evaluate
    q, v, a, b = state.q, state.v, state.a.copy(), state.a.copy()
    times, energies = [], []
    for k in range(round(duration / step) + 1):
        evaluate(system, work, k * step, q, v, a, powers)
        if k % every == 0:
            times.append(k * step)
            energies.append(kinetic_energy(system.tree, work.bodies) + gravity_energy(system.tree, work.bodies))
        ahead, fast = q + step * v, v + step * a
        evaluate(system, work, (k + 1) * step, ahead, fast, b, powers)
        q, v = q + 0.5 * step * (v + fast), v + 0.5 * step * (a + b)
    return np.array(times), np.array(energies)


# --- energy and momentum --------------------------------------------------------------------------------------------
def energy() -> None:
    """The double pendulum for 60 minutes at 10 ms."""
    ways = [(method, "rk4", f"`{method}`") for method in METHODS] + [("aba", "rk4", "`aba`, `rk4`")]
    figure = new_figure()
    axes = figure.add_subplot()
    rows: list[Sequence[Any]] = [
        ("", "oscillation, J", "trend over the run, J", "at the end, J", "largest gap, m", "s")
    ]
    runs = {}
    for method, integrator, label in ways:
        settings = [f"simulation.method={method}", f"simulation.integrator={integrator}", "simulation.step=10 ms"]
        trajectory, _, took = run(DOUBLE, *settings, "simulation.duration=3600", "output.every=0.5 s")
        gaps = [trajectory.channel(path).values for path in trajectory.paths if path.endswith("/constraint_error")]
        runs[label] = (trajectory.time, trajectory.channel("energy/total").values, max(np.abs(gaps).max(), 0.0), took)
    runs["Heun"] = (*heun(DOUBLE, 0.01, 3600.0, 50), 0.0, None)
    for label, (t, values, gap, took) in runs.items():
        error = values - values[0]
        trend = np.polyfit(t, error, 1)[0] * t[-1]
        shown = (
            f"{np.percentile(np.abs(error), 99):.2g}",
            f"{trend:.1e}",
            f"{error[-1]:.2g}",
            f"{gap:.1e}" if gap else "",
        )
        rows.append((label, *shown, f"{took:.1f}" if took else ""))
        axes.plot(t / 60, np.abs(error) + 1e-16, label=label.replace("`", ""), linewidth=0.6)
    table(*rows)
    axes.set(xlabel="time, min", ylabel="error of the energy, J", yscale="log", ylim=(1e-5, 1e2))
    axes.legend(loc="upper right")
    save(figure, ROOT / "docs/pictures/variational_energy.png")


def chain_energy() -> None:
    """Ten rods on hinges that fall and whirl for 60 s at 1 ms."""
    rows: list[Sequence[Any]] = [("", "standard deviation, J", "trend over 60 s, J", "largest error, J")]
    ways = [*((method, "rk4") for method in METHODS), ("aba", "semi_implicit_euler"), ("aba", "rk4")]
    for method, integrator in ways:
        settings = [f"simulation.method={method}", f"simulation.integrator={integrator}", "vars.n=10", "vars.swing=1"]
        trajectory, _, _ = run("bench/chain.yaml", *settings, "simulation.duration=60", "simulation.step=1 ms")
        values = trajectory.channel("energy/total").values
        error = values - values[0]
        trend = np.polyfit(trajectory.time, error, 1)[0] * 60
        label = f"`{method}`" + ("" if method in METHODS else f", `{integrator}`")
        rows.append((label, f"{error.std():.1e}", f"{trend:.1e}", f"{np.abs(error).max():.1e}"))
    table(*rows)


# --- loops ----------------------------------------------------------------------------------------------------------
def drift() -> None:
    """A loop of four links that swings for 60 s at 10 ms: the gap over time."""
    instants = (1.0, 10.0, 30.0, 60.0)
    rows: list[Sequence[Any]] = [("gap, m, until", *(f"{t:g} s" for t in instants))]
    none = ["simulation.options.stabilization=baumgarte", "simulation.options.baumgarte_rate=1e-9"]
    ways: list[tuple[str, list[str]]] = [(f"`{method}`", [f"simulation.method={method}"]) for method in METHODS]
    ways += [("`aba`, `rk4`, no stabilization", none), ("`aba`, `rk4`, `projection`", [])]
    for label, settings in ways:
        trajectory, summary, _ = run(
            "bench/loop.yaml", "vars.n=4", "vars.closing=spherical", WEIGHT, "simulation.duration=60",
            "simulation.step=10 ms", "simulation.integrator=rk4", "output.every=10 ms", *settings,
        )  # fmt: skip
        gap = np.abs(trajectory.channel("joints/last/constraint_error").values)
        shown = [f"{gap[trajectory.time <= t].max():.1e}" if summary.reached >= t else "" for t in instants]
        rows.append((label, *shown))
    table(*rows)


def segments() -> None:
    """Chains of four-bars through their singular positions, for 10 s."""
    rows: list[Sequence[Any]] = [
        (
            "method",
            "segments",
            "step, ms",
            "reached, s",
            "gap, m",
            "energy error",
            "most iterations",
            "fallbacks",
            "s",
        )
    ]
    for method in METHODS:
        for n in (2, 5, 10, 20):
            for step in (10, 2):
                trajectory, summary, took = run(
                    "bench/fourbar_chain.yaml", f"vars.n={n}", f"simulation.method={method}",
                    f"simulation.step={step} ms",
                )  # fmt: skip
                gaps = [trajectory.channel(f"joints/bottom{k}/constraint_error").values for k in range(n)]
                gap, fallbacks = np.abs(gaps).max(), int(trajectory.channel("solver/fallbacks").values.sum())
                most = int(trajectory.channel("solver/iterations").values.max())
                total = trajectory.channel("energy/total").values
                error = np.abs(total - total[0]).max() / abs(total[0])
                shown = (f"{summary.reached:.4g}", f"{gap:.1e}", f"{error:.1e}", most, fallbacks, f"{took:.1f}")
                rows.append((f"`{method}`", n, step, *shown))
    table(*rows)


# --- iterations -----------------------------------------------------------------------------------------------------
@patch.object(variational, "MAX_DENSE_DOFS", 0)
def convergence() -> None:
    """Corrections of one step of 10 ms from rest, of chains of 1, 10 and 100 links, without the fallback to Newton."""
    most = 6
    rows: list[Sequence[Any]] = [("root finder", "links", *range(1, most + 1))]
    for method, finder in (("variational_maximal", "newton"), ("variational_maximal", "riqn"), ("variational", "riqn")):
        for n in (1, 10, 100):
            sizes = []
            for k in range(1, most + 1):
                bound = bind(
                    "bench/chain.yaml", method, 0.01, f"vars.n={n}", "vars.swing=0.5",
                    root_finder=finder, max_iterations=k, tolerance=1e-300, initial_guess="ig1",
                )  # fmt: skip
                [report] = bound.steps(1)
                if report.status is Status.OK:  # the corrections have stalled at round-off
                    break
                sizes.append(np.abs(bound.method.work.response).max())
            falling = next((k for k in range(1, len(sizes)) if not sizes[k] < sizes[k - 1]), len(sizes))
            shown = [f"{size:.0e}" for size in sizes[:falling]] + [""] * (most - falling)
            rows.append((f"`{finder}` of `{method}`", n, *shown))
    table(*rows)


def tolerances() -> None:
    """Chains of up to 200 hinges at 10 ms: iterations of 1000 steps, mean and maximum."""
    rows: list[Sequence[Any]] = [("method", "links", *(f"{t:.0e}" for t in (1e-6, 1e-8, 1e-10)))]
    for method in METHODS:
        for n in (10, 50, 100, 200):
            shown = []
            for tolerance in (1e-6, 1e-8, 1e-10):
                bound = bind("bench/chain.yaml", method, 0.01, f"vars.n={n}", tolerance=tolerance, max_iterations=100)
                shown.append(iterations_of(list(bound.steps(1000))))
            rows.append((f"`{method}`", n, *shown))
    table(*rows)


def iterations_of(reports: list[Report]) -> str:
    """Mean and maximum of the iterations of steps, and the step that failed."""
    found = [report.iterations for report in reports if report.status is Status.OK]
    mean = f"{np.mean(found):.2f}, {max(found)}" if found else ""
    return mean if len(found) == len(reports) else f"fails in step {len(reports)}"


def frames() -> None:
    """Iterations per step at 1 ms, over 10 s of chains of 10 hinges and 2 s of 100, from two initial guesses."""
    rows: list[Sequence[Any]] = [("root finder", "links", "from", "mean", "standard deviation", "maximum")]
    for method, finder in (("variational", "riqn"), ("variational_maximal", "riqn"), ("variational_maximal", "newton")):
        for n in (10, 100):
            for guess in ("ig3", "extrapolated"):
                bound = bind(
                    "bench/chain.yaml", method, 0.001, f"vars.n={n}", "vars.swing=1" if n == 10 else "vars.swing=0.1",
                    root_finder=finder, initial_guess=guess,
                )  # fmt: skip
                counts = np.array([report.iterations for report in bound.steps(10_000 if n == 10 else 2000)])
                label = f"`{finder}` of `{method}`"
                rows.append((label, n, f"`{guess}`", f"{counts.mean():.2f}", f"{counts.std():.2f}", counts.max()))
    table(*rows)


def guesses() -> None:
    """Iterations per step by the initial guess, and the largest distance of the results after one second."""
    rows: list[Sequence[Any]] = [("method", "`ig1`", "`ig2`", "`ig3`", "`extrapolated`", "distance")]
    for method in METHODS:
        means, ends = [], []
        for guess in ("ig1", "ig2", "ig3", "extrapolated"):
            bound = bind("bench/chain.yaml", method, 0.001, "vars.n=10", "vars.swing=1", initial_guess=guess)
            means.append(np.mean([report.iterations for report in bound.steps(1000)][2:]))
            ends.append(np.concatenate([body["x"] for body in bound.method.work.bodies]))
        apart = max(np.abs(end - ends[0]).max() for end in ends)
        rows.append((f"`{method}`", *(f"{mean:.2f}" for mean in means), f"{apart:.0e} m"))
    table(*rows)


def root_finders() -> None:
    """Time of a step at 1 ms by each root finder, with the residual by recursion and by sums, from `ig3`; us."""
    pairs = [(finder, how) for how in ("drnea", "svi") for finder in ("riqn", "newton", "broyden")]
    rows: list[Sequence[Any]] = [("DoF", *(f"{finder}, {how}" for finder, how in pairs))]
    for n, steps in ((10, 1000), (100, 100)):
        shown = []
        for finder, how in pairs:
            options = {"root_finder": finder, "evaluation": how, "initial_guess": "ig3"}
            bound = bind("bench/chain.yaml", "variational", 0.001, f"vars.n={n}", "vars.swing=0.3", **options)
            list(bound.steps(1))
            took = []
            for block in range(BLOCKS):
                began = time.perf_counter()
                report = bound.method.advance(bound.state, (1 + (block + 1) * steps) * bound.step)
                took.append((time.perf_counter() - began) / steps)
                assert report.status is Status.OK
            shown.append(f"{1e6 * statistics.median(took):.3g}")
        rows.append((n, *shown))
    table(*rows)


def sparsity() -> None:
    """A step of the maximal method, all iterations, against one dense solution of the linear system of an iteration."""
    rows: list[Sequence[Any]] = [("links", "unknowns", "step, us", "iterations", "dense solve, us")]
    sizes, ours, dense = (10, 20, 50, 100, 200), [], []
    for n in sizes:
        bound = bind("bench/chain.yaml", "variational_maximal", 0.01, f"vars.n={n}", "vars.swing=0.01")
        bound.method.advance(bound.state, 0.1)
        blocks = []
        for block in range(BLOCKS):
            began = time.perf_counter()
            report = bound.method.advance(bound.state, 0.1 + 0.2 * (block + 1))
            blocks.append((time.perf_counter() - began) / 20)
            assert report.status is Status.OK
        ours.append(statistics.median(blocks))
        unknowns = 11 * n
        matrix = np.random.default_rng(1).normal(size=(unknowns, unknowns))
        blocks = []
        for _ in range(BLOCKS):
            began = time.perf_counter()
            np.linalg.solve(matrix, matrix[0])
            blocks.append(time.perf_counter() - began)
        dense.append(statistics.median(blocks))
        rows.append((n, unknowns, f"{1e6 * ours[-1]:.0f}", report.iterations, f"{1e6 * dense[-1]:.0f}"))
    table(*rows)
    last = np.log(sizes[2:])
    print(f"exponents from 50 links on: {np.polyfit(last, np.log(ours[2:]), 1)[0]:.2f} a step, ", end="")
    print(f"{np.polyfit(last, np.log(dense[2:]), 1)[0]:.2f} a dense solve\n", flush=True)


EXPERIMENTS: dict[str, Callable[[], None]] = {
    "energy": energy,
    "chain_energy": chain_energy,
    "drift": drift,
    "sparsity": sparsity,
    "convergence": convergence,
    "segments": segments,
    "tolerances": tolerances,
    "frames": frames,
    "guesses": guesses,
    "root_finders": root_finders,
}

if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(EXPERIMENTS)
    if unknown:
        sys.exit(f"no such experiment: {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    for word in sys.argv[1:] or EXPERIMENTS:
        print(f"### {word}: {EXPERIMENTS[word].__doc__}\n", flush=True)
        EXPERIMENTS[word]()
