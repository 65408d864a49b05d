"""Time the parts of method `baraff`: factor and solve on the tree, against `aba` and against a dense solve.

    python docs/benchmarks/baraff.py

Three tables: nanoseconds a body over growing chains of hinges and of balls; the multipliers of 127 balls, sparse
against dense; and what k constraints in loops add to one evaluation.  Medians of interleaved blocks in one process.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from multibody_cli.constraint_solver.constrained_nodes import solve
from multibody_cli.methods.baraff import factor_bodies
from multibody_cli.studies.simulation import PreparedSimulation, prepare

CHAIN = Path(__file__).parents[2] / "scenes/bench/chain.yaml"
BLOCKS = 9


class Bound:
    """A scene with its method, and the pieces of one evaluation."""

    def __init__(self, simulation: PreparedSimulation) -> None:
        self.system = simulation.compiled.model.system
        self.state = simulation.fresh_state()
        self.method = simulation.method_for(self.state)
        self.method.start(self.state)
        self.work = self.method.work

    def evaluate(self) -> None:
        """All accelerations, ten times over."""
        self.method.evaluate_repeatedly(self.state, 10)

    def factor(self) -> None:
        """The blocks of bodies and joints, and their factors over them."""
        factor_bodies(self.system, self.work, self.state.a)

    def solve(self) -> None:
        """One solve with these factors."""
        solve(self.work.scratch.kkt, self.work.scratch.x, self.work.scratch.multipliers)


def seconds(function: Callable[[], object], least: float = 0.02) -> float:
    """Seconds of one call, over a block that takes a while."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in range(count):
            function()
        took = time.perf_counter() - began
        if took > least:
            return took / count
        count = max(2 * count, math.ceil(count * least / max(took, 1e-9)))


def interleaved(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each, block by block in turn."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(BLOCKS):
        for name, function in functions.items():
            found[name].append(seconds(function))
    return {name: statistics.median(times) for name, times in found.items()}


def parts_of_an_evaluation() -> None:
    """Nanoseconds a body, over growing chains."""
    print("| joints | bodies | aba | factor | solve | factor + solve, to aba | evaluation | factor to solve |")
    print("|---|---|---|---|---|---|---|---|")
    exponents = {}
    for joint in ("revolute", "spherical"):
        sizes, times = (50, 127, 500, 1000, 5000), []
        for n in sizes:
            settings = [f"vars.n={n}", f"vars.joint={joint}", "vars.swing=0.01"]
            ours = Bound(prepare(CHAIN, [*settings, "simulation.method=baraff"]))
            aba = Bound(prepare(CHAIN, settings))
            found = interleaved(
                {
                    "aba": aba.evaluate,
                    "evaluation": ours.evaluate,
                    "factor": ours.factor,
                    "solve": ours.solve,
                }
            )
            each = {name: 1e9 * value / n for name, value in found.items()}
            each["aba"], each["evaluation"] = each["aba"] / 10, each["evaluation"] / 10
            both = each["factor"] + each["solve"]
            times.append(both * n)
            print(
                f"| {joint} | {n} | {each['aba']:.0f} | {each['factor']:.0f} | {each['solve']:.0f} | "
                f"**{both / each['aba']:.2f}** | {each['evaluation']:.0f} | {each['factor'] / each['solve']:.1f} |",
                flush=True,
            )
        exponents[joint] = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    for joint, exponent in exponents.items():
        print(f"\nfactor and solve of {joint} grow as bodies^{exponent:.3f}")
    print()


def sparse_against_dense() -> None:
    """The 381 multipliers of 127 balls: A = J M^-1 J^T by Cholesky, against the sparse factor and solve."""
    print("| multipliers | sparse, us | dense, us | dense to sparse |")
    print("|---|---|---|---|")
    for n in (32, 64, 127):
        ours = Bound(prepare(CHAIN, [f"vars.n={n}", "vars.joint=spherical", "simulation.method=baraff"]))
        rows = len(ours.work.rows)
        J, inverse = dense_blocks(ours)
        b = np.ones(rows)

        def dense(J: np.ndarray = J, inverse: np.ndarray = inverse, b: np.ndarray = b) -> object:
            return cho_solve(cho_factor(J @ inverse @ J.T, check_finite=False), b, check_finite=False)

        found = interleaved({"factor": ours.factor, "solve": ours.solve, "dense": dense})
        sparse = found["factor"] + found["solve"]
        print(f"| {rows} | {1e6 * sparse:.1f} | {1e6 * found['dense']:.0f} | **{found['dense'] / sparse:.0f}** |")
    print()


def dense_blocks(ours: Bound) -> tuple[np.ndarray, np.ndarray]:
    """J (m, 6 n) and M^-1 (6 n, 6 n) as whole matrices."""
    links, work, n = ours.system.tree.links, ours.work, len(ours.system.tree.links) - 1
    J, inverse = np.zeros((len(work.rows), 6 * n)), np.zeros((6 * n, 6 * n))
    for closure in ours.system.tree.closures:
        frame = work.bodies[closure["loop_frame"]]
        R = frame["R"].reshape(3, 3).T  # from the axes of the joint, in which its constraint axes are
        for r in range(closure["first_row"], closure["last_row"]):
            moment, force = R @ work.constraint_axes[r]["t"], R @ work.constraint_axes[r]["f"]
            for body, sign in ((closure["child"], 1.0), (closure["parent"], -1.0)):
                if body:
                    about = moment + np.cross(frame["x"] - work.bodies[body]["x"], force)
                    J[r, 6 * body - 6 : 6 * body] = sign * np.array([*about, *force])
    for i in range(n):
        body, mass = work.bodies[i + 1], links[i + 1]["mass"]
        x, y, z = body["h"]
        coupling = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        rotational = np.zeros((3, 3))
        rotational[np.triu_indices(3)] = body["J"]
        rotational += np.triu(rotational, 1).T
        block = np.block([[rotational, coupling], [coupling.T, mass * np.eye(3)]])
        inverse[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = np.linalg.inv(block)
    return J, inverse


def constraints_in_loops() -> None:
    """What k rods, each from some link to the world, add to an evaluation of 128 balls."""
    print("| rows in loops | evaluation, us | added, us | added by each, us |")
    print("|---|---|---|---|")
    text = CHAIN.read_text()
    with TemporaryDirectory() as folder:
        alone = 0.0
        for k in (0, 1, 2, 4, 8, 12, 16):
            rods = [
                f"  rod{i}: {{type: distance, between: [{{body: link{7 * i + 6}}}, "
                f"{{body: world, point: [3, {i}, {-(7 * i + 6)}]}}], length: {math.hypot(3, i):.12g}}}"
                for i in range(k)
            ]
            scene = Path(folder) / "rods.yaml"
            scene.write_text(text + ("\nconstraints:\n" + "\n".join(rods) + "\n" if rods else ""))
            settings = ["vars.n=128", "vars.joint=spherical", "vars.swing=0", "simulation.method=baraff"]
            ours = Bound(prepare(scene, [*settings, "simulation.assembly_tolerance=10"]))
            took = 1e5 * interleaved({"evaluation": ours.evaluate})["evaluation"]
            alone = alone or took
            each = f"{(took - alone) / k:.1f}" if k else ""
            print(f"| {k} | {took:.1f} | {took - alone:.1f} | {each} |")


if __name__ == "__main__":
    parts_of_an_evaluation()
    sparse_against_dense()
    constraints_in_loops()
