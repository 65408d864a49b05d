"""Force between two bodies, `contacts/A:B/force`: the sum over their contacts.

The channel is not stored: it is computed from the recorded contacts, when it is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.output.contact_channels import BODY_PAIR, GROUP, STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from multibody_cli.model import Floats, Integers
    from multibody_cli.output.channel import Array

WORLD = "world"
NEEDS = (*BODY_PAIR, f"{GROUP}/normal", f"{GROUP}/normal_impulse", f"{GROUP}/tangential_impulse")
"""Stored channels of contacts that `force_of_pair` takes, beside the step."""

STORED = (STEP, f"{GROUP}/offset", *NEEDS)
"""Stored channels that the force of a pair is computed from."""

UNITS = "N"
DESCRIPTION = "Force of the contacts of A and B on B: impulses of the last step before the output, divided by the step."
_PATH = re.compile(rf"{GROUP}/([\w-]+):([\w-]+)/force")


class Pair(NamedTuple):
    """Indices of two bodies, -1 for the world; the force is that of `a` on `b`."""

    a: int
    b: int


def find_pair(path: str, bodies: Sequence[str]) -> Pair | None:
    """Return the bodies of `contacts/A:B/force`; None if there is no such channel."""
    match = _PATH.fullmatch(path)
    if match is None or match[1] == match[2] or not {*match.groups()} <= {WORLD, *bodies}:
        return None
    return Pair(*(-1 if name == WORLD else bodies.index(name) for name in match.groups()))


def pairs_in_contact(body_a: Array, body_b: Array) -> list[Pair]:
    """List the pairs among contacts (N,), each once, the smaller index first."""
    both = np.sort(np.column_stack([body_a, body_b]), axis=1)
    return [Pair(*row) for row in np.unique(both[both[:, 0] < both[:, 1]], axis=0).tolist()]


def paths_of(pair: Pair, bodies: Sequence[str]) -> tuple[str, str]:
    """Return the paths of the forces of a pair on its second and on its first body."""
    a, b = (WORLD if body < 0 else bodies[body] for body in pair)
    return f"{GROUP}/{a}:{b}/force", f"{GROUP}/{b}:{a}/force"


def suggest(path: str, bodies: Sequence[str], known: Iterable[str]) -> str:
    """Return a hint for an unknown path: the unknown body of a pair, or the nearest of the known paths."""
    match = _PATH.fullmatch(path)
    if match is None:
        return nearest(path, known)
    for name in match.groups():
        if name not in (WORLD, *bodies):
            return f"there is no body `{name}`: {nearest(name, {WORLD, *bodies})}"
    return "a pair has two different bodies"


def force_of_pair(pair: Pair, step: Floats, instant: Integers, *contacts: Array) -> Floats:
    """Return the force of body A on body B at each instant, (K, 3), N, in the world frame.

    Parameters
    ----------
    pair
        The bodies.
    step
        (K,) length of the last step before each instant, s.
    instant
        (N,) instant of each contact, from 0.
    contacts
        The N values of each channel of `NEEDS`.
    """
    body_a, body_b, normal, normal_impulse, tangential_impulse = contacts
    force = np.zeros((len(step), 3))
    for sign, (a, b) in ((1.0, pair), (-1.0, pair[::-1])):
        own = (body_a == a) & (body_b == b)
        impulse = normal_impulse[own, None] * normal[own] + tangential_impulse[own]
        np.add.at(force, instant[own], sign * impulse / step[instant[own], None])
    return force
