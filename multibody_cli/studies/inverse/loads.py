"""Measured forces on bodies, such as those of the ground on the feet, from tables.

A file of OpenSim (ExternalLoads, `.xml`) names the table, and for each force the body and the columns of force, point
and torque.  Without such a file, `BODY=FILE:FORCE,POINT,TORQUE` names the same: a body, a table, and the prefixes of
the names of three columns each.  Natural cubic splines lead through the values of the columns, as in OpenSim.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from multibody_cli.errors import ArgumentError, SceneError, nearest
from multibody_cli.foreign.markup import Element, parse, read_content
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.limits import Usage
from multibody_cli.model import State
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.motion import read_columns

GROUND = ("ground", "world", "")
"""Names of the frame that does not move."""

FEWEST = 4
"""Fewest instants of a spline; fewer are joined by lines."""


class Load(Immutable):
    """A measured force and torque on a body.

    Parameters
    ----------
    source
        The table.
    body
        The body.
    span
        First and last instant, s.
    force, point, torque
        Functions of time with the components (3,) in N, m and N m; None without.
    force_body, point_body
        The bodies in whose frames they are; empty for the world.
    """

    source: str
    body: str
    span: tuple[float, float]
    force: Any = None
    point: Any = None
    torque: Any = None
    force_body: str = ""
    point_body: str = ""

    def wrench(self, time: float, state: State, equations: EquationsOfMotion) -> Floats:
        """Return force, N, and moment, N m, (6,) about the origin of the body, in world axes.

        Raises
        ------
        ArgumentError
            The table has no such instant.
        """
        slack = 1e-9 * max(1.0, abs(self.span[1]))
        if not self.span[0] - slack <= time <= self.span[1] + slack:
            raise ArgumentError(
                f"{self.source} has values from {self.span[0]:g} s to {self.span[1]:g} s, but the motion has an "
                f"instant at {time:g} s: choose others with --from and --to"
            )
        time = min(max(time, self.span[0]), self.span[1])
        axes = equations.pose(state, self.force_body)[1] if self.force_body else np.eye(3)
        found = np.zeros(6)
        if self.force is not None:
            found[:3] = axes @ self.force(time)
        if self.force is not None and self.point is not None:
            origin, point = equations.pose(state, self.body)[0], self.point(time)
            if self.point_body:
                place, turned = equations.pose(state, self.point_body)
                point = place + turned @ point
            found[3:] = np.cross(point - origin, found[:3])
        if self.torque is not None:
            found[3:] += axes @ self.torque(time)
        return found


def read_loads(words: Sequence[str], bodies: Sequence[str]) -> list[Load]:
    """Read the loads of files.

    Parameters
    ----------
    words
        Each a file of OpenSim, or `BODY=FILE:FORCE,POINT,TORQUE`.
    bodies
        The bodies of the scene.

    Raises
    ------
    ArgumentError
        A file cannot be used, or a body or a column does not exist; the message has all problems.
    """
    found, problems = [], []
    for word in words:
        try:
            loads = _from_xml(Path(word)) if word.endswith(".xml") else [_from_word(word)]
            for load in loads:
                for body in filter(None, (load.body, load.force_body, load.point_body)):
                    if body not in bodies:
                        raise ArgumentError(f"{word}: no body `{body}`: {nearest(body, bodies)}")
            found += loads
        except (ArgumentError, SceneError) as error:
            problems.append(str(error))
    if problems:
        raise ArgumentError("\n".join(problems))
    return found


def _from_word(word: str) -> Load:
    body, _, rest = word.partition("=")
    file, _, names = rest.rpartition(":")
    parts = [part.strip() for part in names.split(",")]
    if not (body and file and parts[0]) or len(parts) > 3:
        raise ArgumentError(
            f"--loads {word}: expected a file of ExternalLoads (.xml), or BODY=FILE:FORCE,POINT,TORQUE with the "
            "prefixes of its columns, as in `foot=grf.mot:ground_force_v,ground_force_p,ground_torque_`"
        )
    return _load(Path(file), body, *[*parts, "", ""][:3])


def _from_xml(path: Path) -> list[Load]:
    usage = Usage()
    root = parse(read_content(path, usage), str(path), usage).root
    sets = [element for element in root.walk() if element.tag == "ExternalLoads"]
    if not sets:
        raise ArgumentError(f"{path}: expected <ExternalLoads>")
    file = _text(sets[0], "datafile")
    found = []
    for element in sets[0].walk():
        if element.tag != "ExternalForce" or not _is_on(element):
            continue
        table = file or _text(element, "data_source_name")
        words = ("applied_to_body", "force_identifier", "point_identifier", "torque_identifier")
        frames = [_text(element, f"{word}_expressed_in_body") for word in ("force", "point")]
        body, *names = [_text(element, word) for word in words]
        own = ["" if _last(frame) in GROUND else _last(frame) for frame in frames]
        found.append(_load(path.parent / table, _last(body), *names, *own))
    return found


def _last(name: str) -> str:
    """Return the name of a component without its path."""
    return name.rsplit("/", 1)[-1]


def _text(element: Element, tag: str) -> str:
    return next((one.text.strip() for one in element.all(tag)), "")


def _is_on(element: Element) -> bool:
    return _text(element, "isDisabled") != "true" and _text(element, "appliesForce") != "false"


def _load(
    path: Path, body: str, force: str, point: str, torque: str, force_body: str = "", point_body: str = ""
) -> Load:
    times, names, values, line, _ = read_columns(path)

    def function(prefix: str, what: str) -> Any:
        if not prefix:
            return None
        places = [k for k, name in enumerate(names) if name.startswith(prefix)]
        if len(places) != 3:
            near = nearest(prefix, names)
            raise ArgumentError(
                f"{path}:{line}: expected three columns that begin with `{prefix}`, of a {what}, found "
                f"{len(places)}: {near}"
            )
        columns = values[:, places]
        if not np.isfinite(columns).all():
            raise ArgumentError(f"{path}: missing values in columns `{prefix}...`: fill the gaps first")
        if len(times) < FEWEST:
            return lambda t: np.array([np.interp(t, times, column) for column in columns.T])
        return CubicSpline(times, columns, bc_type="natural")

    span = float(times[0]), float(times[-1])
    functions = function(force, "force"), function(point, "point"), function(torque, "torque")
    if functions[0] is None and functions[2] is None:
        raise ArgumentError(f"{path}: the load on `{body}` has neither force nor torque")
    return Load(str(path), body, span, *functions, force_body, point_body)
