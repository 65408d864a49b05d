"""mbsim: simulation of multibody systems, in Python.

    import mbsim

    scene = mbsim.load("swing.yaml", {"simulation.duration": "1 s"})
    run = scene.run()                       # an xarray dataset with units
    print(run["joints/hinge/q"][-1])

    sim = mbsim.Simulation(scene)           # step by step
    sim.force["hinge"][:] = -2.0 * sim.v["hinge"]
    sim.step()

Everything is in SI units and radians.  `docs/python.md` is the guide; the command line is `mbsim`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from multibody_cli.version import __version__ as __version__

if TYPE_CHECKING:
    from multibody_cli.api.linear_model import LinearModel
    from multibody_cli.api.scene import Scene, SceneWarning, UnsuccessfulRun, load, read
    from multibody_cli.api.sensitivities import sensitivities
    from multibody_cli.api.simulation import Simulation
    from multibody_cli.api.views import NamedViews, UnknownName
    from multibody_cli.errors import ArgumentError, MbsimError, OutputError, ResultError, RunFailed, SceneError

__all__ = [
    "ArgumentError",
    "LinearModel",
    "MbsimError",
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
    "load",
    "read",
    "sensitivities",
]

_HOMES = {
    "api.linear_model": ("LinearModel",),
    "api.scene": ("Scene", "SceneWarning", "UnsuccessfulRun", "load", "read"),
    "api.sensitivities": ("sensitivities",),
    "api.simulation": ("Simulation",),
    "api.views": ("NamedViews", "UnknownName"),
    "errors": ("ArgumentError", "MbsimError", "OutputError", "ResultError", "RunFailed", "SceneError"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"multibody_cli.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
