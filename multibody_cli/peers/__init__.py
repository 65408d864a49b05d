"""Other simulators in which a scene can be timed: `mbsim bench --against`.

Their packages are the extra `peers`; they are imported when a model is built.
"""

from __future__ import annotations

from importlib import import_module

from multibody_cli.peers.contract import PeerKind
from multibody_cli.peers.drake import DRAKE
from multibody_cli.peers.engine import Engine
from multibody_cli.peers.exudyn import EXUDYN
from multibody_cli.peers.mujoco import MUJOCO
from multibody_cli.peers.pinocchio import PINOCCHIO
from multibody_cli.registry import Registry

PEERS: dict[str, PeerKind] = {kind.name: kind for kind in (MUJOCO, PINOCCHIO, DRAKE, EXUDYN)}
"""All supported simulators, by name."""


def _engine(name: str) -> type[Engine]:
    found: type[Engine] = import_module(f"{__name__}.{_ENGINE_MODULES[name]}").ENGINE
    return found


_ENGINE_MODULES = {
    "mjcf": "mujoco_engine",
    "osim": "opensim_engine",
    "sdf": "drake_engine",
    "urdf": "pinocchio_engine",
    "xacro": "pinocchio_engine",
}

ENGINES = Registry(_ENGINE_MODULES, _engine)
"""The engine of each format of foreign models, by the name of the format."""
