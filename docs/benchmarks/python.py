"""Cost of a controller in Python: a step with a sampled PD controller on one joint, and a step of the compiled loop.

    python docs/benchmarks/python.py

Both are measured in turn; the least of 300 blocks of 100 steps counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import mbsim

CHAIN = Path(__file__).parents[2] / "scenes" / "bench" / "chain.yaml"
BLOCKS, STEPS = 300, 100


def main() -> None:
    """Print microseconds per step for chains of hinges."""
    print("| bodies | integrator | compiled, us | controlled, us | difference, us |")
    print("|---|---|---|---|---|")
    for n in (1, 6, 20):
        for integrator in ("semi_implicit_euler", "rk4"):
            compiled, controlled = measure(n, integrator)
            times = f"{compiled:.2f} | {controlled:.2f} | {controlled - compiled:.2f}"
            print(f"| {n} | `{integrator}` | {times} |")


def measure(n: int, integrator: str) -> tuple[float, float]:
    """Time of a step, us: in the compiled loop, and under a controller."""
    scene = mbsim.load(CHAIN, {"vars.n": n, "simulation.integrator": integrator})
    free, controlled = mbsim.Simulation(scene), mbsim.Simulation(scene)
    q, v, force = (views["joint0"] for views in (controlled.q, controlled.v, controlled.force))

    def control() -> None:
        for _ in range(STEPS):
            force[0] = -2.0 * q[0] - 0.5 * v[0]
            controlled.step()

    compiled_times, controlled_times = [], []
    for _ in range(BLOCKS):
        compiled_times.append(timed(lambda: free.step(STEPS)))
        controlled_times.append(timed(control))
    return min(compiled_times), min(controlled_times)


def timed(block: Callable[[], None]) -> float:
    """Time of a step of a block, us."""
    began = time.perf_counter()
    block()
    return 1e6 * (time.perf_counter() - began) / STEPS


if __name__ == "__main__":
    main()
