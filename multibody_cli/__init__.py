"""mbsim: multibody systems from YAML scenes.

As a library::

    from multibody_cli import MemorySink, prepare

    sink = MemorySink()
    prepare("scene.yaml", ["vars.n=3"]).run(sink)
    print(sink.trajectory().channel("energy/total").values)

What stands here is imported when it is first asked for, so that `import multibody_cli` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from multibody_cli.version import __version__ as __version__

if TYPE_CHECKING:
    from multibody_cli.compile import compile_scene
    from multibody_cli.methods import METHODS
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.output.sink import MemorySink
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.scene.load import load_scene
    from multibody_cli.studies.simulation import prepare
    from multibody_cli.timeline import simulate

__all__ = [
    "METHODS",
    "Hdf5Sink",
    "MemorySink",
    "compile_scene",
    "load_scene",
    "prepare",
    "read_trajectory",
    "simulate",
]

_HOMES = {
    "METHODS": "methods",
    "Hdf5Sink": "output.hdf5",
    "MemorySink": "output.sink",
    "compile_scene": "compile",
    "load_scene": "scene.load",
    "prepare": "studies.simulation",
    "read_trajectory": "output.trajectory",
    "simulate": "timeline",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
