"""Other simulators in which a scene can be timed: `mbsim bench --against`.

Their packages are the extra `peers`; they are imported when a model is built.
"""

from __future__ import annotations

from multibody_cli.peers.contract import PeerKind
from multibody_cli.peers.drake import DRAKE
from multibody_cli.peers.exudyn import EXUDYN
from multibody_cli.peers.mujoco import MUJOCO
from multibody_cli.peers.pinocchio import PINOCCHIO

PEERS: dict[str, PeerKind] = {kind.name: kind for kind in (MUJOCO, PINOCCHIO, DRAKE, EXUDYN)}
"""All supported simulators, by name."""
