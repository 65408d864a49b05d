"""Other simulators in which a scene can be timed: `mbsim bench --against`.

Their packages are the extra `peers`; they are imported when a model is built.
"""

from __future__ import annotations

from multibody_cli.peers.contract import PeerKind
from multibody_cli.peers.drake import DRAKE
from multibody_cli.peers.engine import Engine
from multibody_cli.peers.exudyn import EXUDYN
from multibody_cli.peers.mujoco import MUJOCO
from multibody_cli.peers.pinocchio import PINOCCHIO
from multibody_cli.registry import Registry

PEERS: dict[str, PeerKind] = {kind.name: kind for kind in (MUJOCO, PINOCCHIO, DRAKE, EXUDYN)}
"""All supported simulators, by name."""

_ENGINES = {
    "mjcf": "mujoco_engine.ENGINE",
    "osim": "opensim_engine.ENGINE",
    "sdf": "drake_engine.ENGINE",
    "urdf": "pinocchio_engine.ENGINE",
    "xacro": "pinocchio_engine.ENGINE",
}

ENGINES: Registry[type[Engine]] = Registry.of_modules(__name__, _ENGINES)
"""The engine of each format of foreign models, by the name of the format."""
