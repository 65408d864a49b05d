"""Planar four-bars: lengths of the links, Grashof class, and transmission angle.

With the shortest link s, the longest l, and the others p and q, some link turns round fully if s + l <= p + q
(Grashof).  Which link is the shortest decides the class.  With s + l = p + q, all links can lie on a line: there, two
branches meet (a change point).

The transmission angle is the acute angle between the lines of coupler and output.  Where it is 0, the output is at a
dead centre if it drives, and no force of the coupler turns it.

Sources: Grashof, Theoretische Maschinenlehre (1883); Norton, Design of Machinery, ch. 2 and 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.joints.spec import WORLD
from multibody_cli.kernel import Floats
from multibody_cli.model import Model
from multibody_cli.scene.schema import SceneSpec

EQUAL = 1e-9
"""Difference of lengths, relative to their sum, that is round-off; also of directions of axes."""

CLASSES = ("double-crank", "crank-rocker", "double-rocker", "rocker-crank")
"""Classes of four-bars whose shortest link is the frame, the input, the coupler or the output, which turns fully."""


SIDES = {"left": 1, "right": -1, "between": 0}
"""Numbers of the assembly branches in result files."""


class FourBar(Immutable):
    """A loop of four hinges.

    Parameters
    ----------
    joints
        The hinges of the input on the frame, of the coupler on the input, of the output on the coupler, and of the
        output on the frame.
    bodies
        Frame, input, coupler and output.
    """

    joints: tuple[str, str, str, str]
    bodies: tuple[str, str, str, str]


def four_bars(scene: SceneSpec, driving: Collection[str]) -> Iterator[FourBar]:
    """Yield the loops of four hinges whose first body, in the order of the scene, is the frame; the world comes first.

    The input is that of the two bodies on the frame with a joint that drives, one of `driving`, or else whose joint
    comes first in the scene.
    """
    numbers = {name: k for k, name in enumerate((WORLD, *scene.bodies))}
    hinges = [(name, spec.parent, spec.child) for name, spec in scene.joints.items() if spec.type == "revolute"]
    order = {name: (name not in driving, k) for k, (name, _, _) in enumerate(hinges)}
    links: dict[str, dict[str, str]] = {}
    for name, parent, child in hinges:
        links.setdefault(parent, {})[child] = name
        links.setdefault(child, {})[parent] = name
    for frame, sides in links.items():
        pairs = itertools.combinations(sorted(sides, key=lambda body, own=sides: order[own[body]]), 2)  # type: ignore[misc]
        for first, last in pairs:
            for coupler in links[first].keys() & links[last].keys() - {frame}:
                bodies = frame, first, coupler, last
                if numbers[frame] == min(map(numbers.__getitem__, bodies)):
                    joints = sides[first], links[first][coupler], links[coupler][last], sides[last]
                    yield FourBar(joints, bodies)


class Pins:
    """The hinges of a four-bar, each fixed in its parent body."""

    def __init__(self, bar: FourBar, scene: SceneSpec, model: Model) -> None:
        names, frames = model.names, model.system.tree.frames
        rows = {WORLD: 0} | dict(zip(names.bodies, names.body_rows.tolist(), strict=True))
        self._fixed: list[tuple[int, Floats, Floats]] = []
        for name in bar.joints:
            spec: Any = scene.joints[name]
            row, origin, axis = rows[spec.parent], np.array(spec.origin.position), np.array(spec.axis)
            w, u = spec.origin.rotation[0], np.array(spec.origin.rotation[1:])
            axis = axis + 2.0 * np.cross(u, np.cross(u, axis) + w * axis)
            if spec.parent != WORLD:
                R = np.asarray(frames[row]["frame"]).reshape(3, 3).T  # stored by columns
                origin, axis = frames[row]["origin"] + R @ origin, R @ axis
            self._fixed.append((row, origin, axis / np.linalg.norm(axis)))

    def at(self, bodies: np.ndarray) -> tuple[Floats, Floats]:
        """Return the points (4, 3) and the directions (4, 3) of the axes in the world."""
        turned = [np.asarray(bodies[row]["R"]).reshape(3, 3).T for row, _, _ in self._fixed]
        places = [bodies[row]["x"] + R @ origin for (row, origin, _), R in zip(self._fixed, turned, strict=True)]
        return np.array(places), np.array([R @ axis for (_, _, axis), R in zip(self._fixed, turned, strict=True)])


def lengths_of(pins: Floats, axes: Floats) -> Floats | None:
    """Return the lengths (4,) of frame, input, coupler and output, m.

    Parameters
    ----------
    pins
        (4, 3) a point of each axis, in the order of `FourBar.joints`, m.
    axes
        (4, 3) directions of the axes.

    Returns
    -------
    Floats or None
        None if the axes are not parallel, or two of them coincide: no planar four-bar.
    """
    if max(np.linalg.norm(np.cross(axes[0], axis)) for axis in axes) > EQUAL:
        return None
    sides = np.array([pins[k - 1] - pins[k] for k in range(4)])
    found = np.linalg.norm(np.cross(axes[0], sides), axis=1)
    return found if found.min() > EQUAL * found.sum() else None


def grashof_class(lengths: Sequence[float]) -> str:
    """Return the class of a four-bar with the lengths of frame, input, coupler and output.

    Special cases of a change point have their names: `parallelogram` (or antiparallelogram, on its other branch),
    `rhombus`, and `kite`, whose equal links are neighbours.  If one link is as long as the others together, they lie on
    a line: `immovable`.
    """
    frame, first, coupler, last = lengths
    small = EQUAL * sum(lengths)
    shortest, p, q, longest = sorted(lengths)
    if longest >= shortest + p + q - small:
        return "immovable"
    if abs(shortest + longest - p - q) > small:
        return CLASSES[int(np.argmin(lengths))] if shortest + longest < p + q else "triple-rocker"
    if abs(frame - coupler) <= small and abs(first - last) <= small:
        return "rhombus" if longest - shortest <= small else "parallelogram"
    if min(max(abs(frame - first), abs(coupler - last)), max(abs(frame - last), abs(first - coupler))) <= small:
        return "kite"
    return f"change point, {CLASSES[int(np.argmin(lengths))]}"


def transmission_angle(pins: Floats, axes: Floats) -> float:
    """Return the acute angle between the lines of coupler and output, rad, from 0 to pi/2."""
    a, b = (side - axes[0] * (axes[0] @ side) for side in (pins[1] - pins[2], pins[3] - pins[2]))
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def branch_of(pins: Floats, axes: Floats) -> str:
    """Return the assembly branch: the side of the pin of coupler and output, `left`, `right`, or `between` on the line.

    The line leads from the pin of input and coupler to that of the output on the frame; the first axis points at the
    observer.
    """
    line, side = pins[3] - pins[1], pins[2] - pins[1]
    height = axes[0] @ np.cross(line, side)
    if abs(height) <= EQUAL * (np.linalg.norm(line) + np.linalg.norm(side)) ** 2:
        return "between"
    return "left" if height > 0.0 else "right"


def least_transmission_angle(lengths: Sequence[float]) -> float:
    """Return the least transmission angle over a full turn of the input, rad: its pins are on the line of the frame."""
    frame, first, coupler, last = lengths
    spans = np.array([frame - first, frame + first])
    cosines = np.abs((coupler**2 + last**2 - spans**2) / (2.0 * coupler * last))
    return float(np.arccos(min(1.0, cosines.max())))
