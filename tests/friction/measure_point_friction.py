"""Time plain staggered projections beside the solvers of the program, on a chain of hinges with dry friction.

    PYTHONPATH=tests python tests/friction/measure_point_friction.py 1 2 5 10

For each number of links, prints median and 9th decile of the iterations of plain staggered projections, and the number
of problems that 1000 do not solve; medians of the milliseconds of processor time for a problem, and of the same less
the time of all normal programs but one, as if their matrix were factored once.  Then follow milliseconds of a step of
algorithm 8, of rows by the proximal method, and of the recursion over the tree; and of plain staggered projections and
of algorithm 8 with the tolerance of the notes, 3 %.

The program takes 1000 steps.  Plain staggered projections solve 5 successive ones of each 100, from the impulses of the
step before.  Their time is that of the compiled loop, without the assembly of the matrix.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import yaml
from loops import Run, start
from point_friction import PointContacts, alternate, point_contacts

from multibody_cli.contact_solver import tree_friction
from multibody_cli.kernel import allocate
from multibody_cli.linalg.free_rows import Scratch

SCENE = Path(__file__).parents[2] / "scenes" / "bench" / "chain_with_friction.yaml"
STEPS, EVERY, SUCCESSIVE, H = 1000, 100, 5, 1e-3
FINE, COARSE, SWEEPS, REPEATS = 1e-10, 0.03, 1000, 3


def run_of(links: int, **contacts) -> Run:
    scene = yaml.safe_load(SCENE.read_text(encoding="utf-8"))
    scene["vars"]["n"], scene["contacts"] = links, contacts
    return start(scene, integrator="semi_implicit_euler")


def measure_program(links: int, **contacts) -> float:
    """Milliseconds of a step of the program, its rows and matrices included."""
    run = run_of(links, **contacts)
    before = process_time()
    run.method.step(run.state, STEPS)
    return 1e3 * (process_time() - before) / STEPS


def measure_step(contacts: PointContacts, guess: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Iterations, milliseconds, milliseconds of a normal program, and milliseconds at 3 %; and the impulses."""
    W, r = contacts.problem()
    work, scratch = np.zeros((4, len(r))), allocate(Scratch, m=len(r))

    def solved(mu: np.ndarray, tolerance: float, sweeps: int) -> tuple[int, float, np.ndarray]:
        """Iterations, milliseconds in a warm cache, and impulses."""
        times = []
        for _ in range(REPEATS):
            x = guess.copy()
            before = process_time()
            count = alternate(W, r, mu, tolerance, sweeps, x, work, scratch)
            times.append(1e3 * (process_time() - before))
        return count, min(times), x

    one, six = (solved(0.0 * contacts.mu, math.nan, sweeps)[1] for sweeps in (1, 6))
    count, time, x = solved(contacts.mu, FINE, SWEEPS)
    return [count, time, (six - one) / 5, solved(contacts.mu, COARSE, SWEEPS)[1]], x


def measure_points(links: int) -> np.ndarray:
    """(steps, 4) results of `measure_step`."""
    run, found = run_of(links), []
    for _ in range(STEPS // EVERY):
        x = np.zeros(len(point_contacts(run, H).rows))
        for step in range(1 + SUCCESSIVE):
            measured, x = measure_step(point_contacts(run, H), x)
            found += [measured] if step > 0 else []
            run.method.step(run.state, 1)
        run.method.step(run.state, EVERY - SUCCESSIVE - 1)
    return np.array(found)


if __name__ == "__main__":
    print("| links | iterations | decile | unsolved | plain | once | algorithm 8 | rows | tree | plain, 3 % | 8, 3 % |")
    for links in map(int, sys.argv[1:]):
        tree = measure_program(links)
        bilateral, coarse = (
            measure_program(links, method="staggered_projections", tolerance=tolerance) for tolerance in (FINE, COARSE)
        )
        with patch.object(tree_friction, "passes_for", lambda *_: None):
            rows = measure_program(links)
        counts, times, normal, third = measure_points(links).T
        columns = (times, times - (counts - 1) * normal, bilateral, rows, tree, third, coarse)
        iterations = (np.median(counts), np.quantile(counts, 0.9), (counts == SWEEPS).sum())
        print(f"| {links} |", " | ".join(f"{count:.0f}" for count in iterations), end=" | ")
        print(" | ".join(f"{np.median(column):.2g}" for column in columns), "|", flush=True)
