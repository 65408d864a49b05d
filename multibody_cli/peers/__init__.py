"""Other programs that a scene can be timed in: `mbsim bench --against`.

Their packages are the extra `peers`, and are imported when a model is built in one of them.
"""

from __future__ import annotations

from multibody_cli.peers.contract import PeerKind
from multibody_cli.peers.mujoco import MUJOCO
from multibody_cli.peers.pinocchio import PINOCCHIO

PEERS: dict[str, PeerKind] = {kind.name: kind for kind in (MUJOCO, PINOCCHIO)}
"""The catalogue of peers."""
