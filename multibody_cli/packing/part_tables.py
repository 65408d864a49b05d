"""Packing of parts of joints into the tables of `Tree`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.joint_map import JointMap, source_of
from multibody_cli.joints.parts.screw import NOT_TURNING, OBLIQUE
from multibody_cli.symbolic.generated import address_of


@dataclass
class PartTables:
    """The tables under construction, and the current lengths of q and v."""

    parts: list[tuple[Any, ...]] = field(default_factory=list)
    plain: list[tuple[int, int]] = field(default_factory=list)
    quaternions: list[tuple[int, int, bool]] = field(default_factory=list)
    exponentials: list[tuple[int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    joint_maps: dict[int, JointMap] = field(default_factory=dict)  # by the address of their code
    nq: int = 0
    nv: int = 0

    def add(self, part: Part) -> None:
        """Append a part."""
        iq, iv = self.nq, self.nv
        joint_map, first = part.joint_map, len(self.constants)
        address = 0
        if joint_map:
            address = address_of(joint_map.title, source_of(joint_map))
            self.joint_maps[address] = joint_map
        self.parts.append((int(part.code), axis_kind(part), iq, iv, part.nv, part.turn, part.slide, address, first))
        self.constants.extend(part.constants)
        turning = part.nq - part.nv  # number of quaternions, none or one, behind the plain coordinates
        plain = part.nv - 3 * turning
        self.plain.extend((iq + k, iv + k) for k in range(plain))
        if turning:
            self.quaternions.append((iq + plain, iv + plain, part.code == PartCode.BALL))
        if part.code == PartCode.EXPONENTIAL:
            self.exponentials.append((iq, iv))
        self.nq, self.nv = iq + part.nq, iv + part.nv


def axis_kind(part: Part) -> int:
    """Return the kind of the axis of a screw: one of the axes of the frame, oblique, or none."""
    if part.turn == (0.0, 0.0, 0.0):
        return NOT_TURNING
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return axes.index(part.turn) if part.turn in axes else OBLIQUE
