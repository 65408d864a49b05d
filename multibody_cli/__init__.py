"""mbsim: simulation of multibody systems, in Python.

    import mbsim                            # or multibody_cli, the name of the distribution

    scene = mbsim.load("swing.yaml", {"simulation.duration": "1 s"})
    run = scene.run()                       # an xarray dataset with units
    print(run["joints/hinge/q"][-1])

    sim = mbsim.Simulation(scene)           # step by step
    sim.force["hinge"][:] = -2.0 * sim.v["hinge"]
    sim.step()

Everything is in SI units and radians.  `docs/python.md` is the guide; the command line is `mbsim`.  A name is imported
when it is first used, so that the import of the package is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from multibody_cli.version import __version__ as __version__

if TYPE_CHECKING:
    from multibody_cli.api.equilibrium import equilibrium
    from multibody_cli.api.inverse import inverse
    from multibody_cli.api.kinematics import kinematics
    from multibody_cli.api.modes import linearize, modes
    from multibody_cli.api.optimize import optimize
    from multibody_cli.api.scene import Scene, SceneWarning, UnsuccessfulRun, load, read
    from multibody_cli.api.sensitivities import sensitivities
    from multibody_cli.api.simulation import Simulation
    from multibody_cli.api.views import NamedViews
    from multibody_cli.compile import compile_scene
    from multibody_cli.errors import (
        ArgumentError,
        MbsimError,
        OutputError,
        ResultError,
        RunFailed,
        SceneError,
        UnknownName,
    )
    from multibody_cli.methods import METHODS
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.output.sink import MemorySink
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.scene.load import load_scene
    from multibody_cli.studies.linearization import LinearModel
    from multibody_cli.studies.simulation import prepare
    from multibody_cli.timeline import Callbacks, Driver

__all__ = [
    "METHODS",
    "ArgumentError",
    "Callbacks",
    "Driver",
    "Hdf5Sink",
    "LinearModel",
    "MbsimError",
    "MemorySink",
    "NamedViews",
    "OutputError",
    "ResultError",
    "RunFailed",
    "Scene",
    "SceneError",
    "SceneWarning",
    "Simulation",
    "UnknownName",
    "UnsuccessfulRun",
    "compile_scene",
    "equilibrium",
    "inverse",
    "kinematics",
    "linearize",
    "load",
    "load_scene",
    "modes",
    "optimize",
    "prepare",
    "read",
    "read_trajectory",
    "sensitivities",
]

_HOMES = {
    "api.equilibrium": ("equilibrium",),
    "api.inverse": ("inverse",),
    "api.kinematics": ("kinematics",),
    "studies.linearization": ("LinearModel",),
    "api.modes": ("linearize", "modes"),
    "api.optimize": ("optimize",),
    "api.scene": ("Scene", "SceneWarning", "UnsuccessfulRun", "load", "read"),
    "api.sensitivities": ("sensitivities",),
    "api.simulation": ("Simulation",),
    "api.views": ("NamedViews",),
    "compile": ("compile_scene",),
    "errors": ("ArgumentError", "MbsimError", "OutputError", "ResultError", "RunFailed", "SceneError", "UnknownName"),
    "methods": ("METHODS",),
    "output.hdf5": ("Hdf5Sink",),
    "output.sink": ("MemorySink",),
    "output.trajectory": ("read_trajectory",),
    "scene.load": ("load_scene",),
    "studies.simulation": ("prepare",),
    "timeline": ("Callbacks", "Driver"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"multibody_cli.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
