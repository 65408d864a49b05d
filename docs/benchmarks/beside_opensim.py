"""A second of a model of OpenSim, here and in OpenSim: processor time, and error of the coordinates at the end.

    python docs/benchmarks/beside_opensim.py arm26.osim

Muscles start in equilibrium, with the excitations of the file.  Each error is the largest one of a coordinate, rad or
m, against the same program with a tight tolerance; the last line compares both programs.  The least of 5 runs counts.
The model has neither free joints nor balls, whose coordinates differ.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import opensim

import mbsim

RUNS, DURATION = 5, 1.0
TIGHT = {"integrator": "dop853", "tolerance": 1e-10}
OWN: list[dict[str, Any]] = [
    {"integrator": "rk4", "step": 1e-3},
    {"integrator": "rk4", "step": 2e-3},
    {"integrator": "dop853", "tolerance": 1e-6},
    {"integrator": "semi_implicit_euler", "step": 1e-3},
]
THEIRS = [("RungeKuttaMerson", None), ("RungeKuttaMerson", 1e-5), ("SemiExplicitEuler2", None), ("CPodes", 1e-5)]


class Here:
    """The model here."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        chosen = {f"simulation.{key}": value for key, value in settings.items()}
        self.simulation = mbsim.Simulation(mbsim.load(path, {"simulation.duration": DURATION, **chosen}))

    def run(self) -> tuple[float, Any]:
        """Return the processor time, s, and the coordinates at the end."""
        self.simulation.reset()
        began = time.process_time()
        self.simulation.advance(DURATION)
        return time.process_time() - began, np.concatenate([*self.simulation.q.values()])


class There:
    """The model in OpenSim, with an integrator and its accuracy; None is the default."""

    def __init__(self, path: Path, method: str, accuracy: float | None) -> None:
        self.model, self.accuracy = opensim.Model(str(path)), accuracy
        self.method = getattr(opensim.Manager, f"IntegratorMethod_{method}")
        self.model.initSystem()
        self.names = [one.getName() for one in self.model.getCoordinateSet()]

    def run(self) -> tuple[float, Any]:
        """Return the processor time, s, and the coordinates at the end."""
        state = self.model.initSystem()
        self.model.equilibrateMuscles(state)
        manager = opensim.Manager(self.model)
        manager.setIntegratorMethod(self.method)
        if self.accuracy is not None:
            manager.setIntegratorAccuracy(self.accuracy)
        manager.setPerformAnalyses(False)
        manager.setWriteToStorage(False)
        manager.initialize(state)
        began = time.process_time()
        end = manager.integrate(DURATION)
        taken = time.process_time() - began
        return taken, np.array([self.model.getCoordinateSet().get(name).getValue(end) for name in self.names])


def least(one: Here | There) -> tuple[float, Any]:
    """Return the least time and the coordinates of several runs."""
    return min((one.run() for _ in range(RUNS)), key=lambda found: found[0])


def compare(path: Path, title: str) -> None:
    """Print the table of a model."""
    print(f"\n{title}\n\n| program | integrator | time, ms | error |\n|---|---|---|---|")
    _, wanted = There(path, "RungeKuttaMerson", 1e-9).run()
    _, own = Here(path, TIGHT).run()
    for settings in OWN:
        taken, found = least(Here(path, settings))
        words = ", ".join(f"{key} {value:g}" for key, value in settings.items() if key != "integrator")
        print(f"| mbsim | `{settings['integrator']}`, {words} | {1e3 * taken:.1f} | {np.abs(found - own).max():.0e} |")
    for method, accuracy in THEIRS:
        taken, found = least(There(path, method, accuracy))
        words = "default accuracy" if accuracy is None else f"accuracy {accuracy:g}"
        print(f"| OpenSim | `{method}`, {words} | {1e3 * taken:.1f} | {np.abs(found - wanted).max():.0e} |")
    print(f"\nboth programs, tight: {np.abs(own - wanted).max():.1e}")


def main() -> None:
    """Compare a model, and the same one with paths that do not wrap."""
    opensim.Logger.setLevelString("off")
    warnings.simplefilter("ignore")
    path = Path(sys.argv[1])
    compare(path, path.stem)
    with TemporaryDirectory() as folder:
        straight = Path(folder) / path.name
        straight.write_text(re.sub(r"<PathWrapSet>.*?</PathWrapSet>", "", path.read_text(), flags=re.DOTALL))
        compare(straight, f"{path.stem} without wraps")


if __name__ == "__main__":
    main()
