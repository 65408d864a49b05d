"""Channels of contacts, whose number varies in time.

A channel with one row for each contact is a flat dataset that concatenates the contacts of all output instants (a
contiguous ragged array of the CF conventions, section 9.3.3).  `contacts/offset` stores the row range of each instant.
To add a channel, add an entry to `CONTACT_CHANNELS`, and a line to `observation/contacts.py`.

Force between two bodies, `contacts/A:B/force`: the sum over their contacts.

The channel is not stored: it is computed from the recorded contacts, when it is read.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.escaping import decoded, path_component
from multibody_cli.output.channel import BOUND, CONTACT, Channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from multibody_cli.model import Floats, Integers
    from multibody_cli.output.channel import Array

GROUP = "contacts"
IMPULSES = "impulses"
MOMENTS = "moments"
COUNT = f"{GROUP}/count"
CREEP = f"{GROUP}/creep"
OFFSET = f"{GROUP}/offset"
STEP = f"{GROUP}/step"
INSTANT_OF_CONTACT = f"{GROUP}/instant"
BODY_PAIR = (f"{GROUP}/body_a", f"{GROUP}/body_b")


_WHOLE: dict[str, Any] = {"dtype": "<i8", "rtol": 0.0, "atol": 0.0}
"""An index or a count: compared exactly."""

_of_contacts = partial(Channel, reader="contacts", element=GROUP)

_resultant = partial(_of_contacts, frame="world", dimensions=("body", "xyz"), role="reaction")

_of_solve = partial(Channel, role="solver", rtol=0.0, element=IMPULSES)

_of_each = partial(_of_contacts, per=CONTACT)
"""One row for each contact."""

_vector = partial(_of_each, frame="world", dimensions=("xyz",))

_mode = partial(_of_each, units="1", role="contact mode", **_WHOLE)

CONTACT_CHANNELS: tuple[Channel, ...] = (
    _resultant(
        "bodies/contact_force",
        "N",
        "Resultant of the contacts on each body: impulses of the last step before the output, divided by the step.",
        "contact_force",
    ),
    _resultant(
        "bodies/contact_torque",
        "N m",
        "Torque of the contacts on each body about the origin of its frame, as for the force.",
        "contact_torque",
    ),
    _of_contacts(COUNT, "1", "Number of contacts.", "contact_count", role="contact mode", **_WHOLE),
    _of_contacts(
        CREEP,
        "m/s",
        "Largest tangential speed of a sticking contact at the end of the step.",
        "creep",
        role="constraint",
        rtol=0.0,
        atol=1e-9,  # the exact value is zero, so only an absolute tolerance applies, that of velocities
    ),
    _of_contacts(
        STEP,
        "s",
        "Length of the last step before the output, by which impulses are divided to obtain forces.",
        "contact_step",
        role="instant",
        atol=1e-12,
    ),
    _of_solve(
        "contacts/residual",
        "1",
        "Largest residual of the contact and friction conditions in a step since the last output, relative to the "
        "impulses.",
        "contact_residual",
        lambda report: report.contact_residual,
        atol=1e-6,
    ),
    _of_solve(
        "contacts/unsolved",
        "1",
        "Steps since the last output whose contacts and friction did not converge to their tolerance.",
        "contacts_unsolved",
        lambda report: report.unsolved,
        atol=0.0,
        dtype="<i8",
    ),
    Channel(
        OFFSET,
        "1",
        "First row of the contacts of each instant: those of instant k are rows offset[k] to offset[k+1] - 1 of the "
        "datasets with one row for each contact.",
        select=lambda block, _: block.contacts.end,
        role="instant",
        per=BOUND,
        element=GROUP,
        **_WHOLE,
    ),
    _of_each(
        INSTANT_OF_CONTACT,
        "1",
        "Index of the output instant of the contact, from 0.",
        reader="",
        select=lambda block, _: block.contacts.instant,
        role="instant",
        **_WHOLE,
    ),
    *(
        _mode(
            f"{GROUP}/body_{letter.lower()}",
            description=f"Body {letter} of the contact: its index in `bodies/name`, -1 for the world.",
            field=f"contact_body_{letter.lower()}",
        )
        for letter in "AB"
    ),
    _mode(f"{GROUP}/mode", description="Mode of the contact: 0 open, 1 sticking, 2 slipping.", field="contact_mode"),
    _vector(f"{GROUP}/point", "m", "Position of the contact point.", "contact_point"),
    _vector(f"{GROUP}/normal", "1", "Unit normal of the contact, from A to B.", "contact_normal"),
    _of_each(
        f"{GROUP}/gap",
        "m",
        "Signed distance of the bodies along the normal; negative in penetration.",
        "contact_gap",
        role="constraint",
        atol=1e-6,  # a small difference of positions, each of relative accuracy 1e-6
    ),
    _of_each(
        f"{GROUP}/normal_impulse",
        "N s",
        "Normal impulse on body B in the last step before the output.",
        "contact_normal_impulse",
        role="reaction",
    ),
    _vector(
        f"{GROUP}/tangential_impulse",
        "N s",
        "Friction impulse on body B in the last step before the output.",
        "contact_tangential_impulse",
        role="reaction",
    ),
    _vector(
        f"{GROUP}/moment_impulse",
        "N m s",
        "Moment impulse on body B by resistance to rolling and spinning in the last step before the output.",
        "contact_moment_impulse",
        role="reaction",
        element=MOMENTS,
    ),
)
"""Channels of a scene with contacts."""

# --- force between two bodies, `contacts/A:B/force`: the sum over their contacts --------------------------------------
WORLD = "world"
NEEDS = (*BODY_PAIR, f"{GROUP}/normal", f"{GROUP}/normal_impulse", f"{GROUP}/tangential_impulse")
"""Stored channels of contacts that `force_of_pair` takes, beside the step."""

STORED = (STEP, f"{GROUP}/offset", *NEEDS)
"""Stored channels that the force of a pair is computed from."""

UNITS = "N"
DESCRIPTION = (
    "Force of the contacts of A and B on B: impulses of the last step before the output, divided by the step. "
    "Several bodies that hold one may share the load in different ways; their sum is unique."
)
_PATH = re.compile(rf"{GROUP}/([\w%-]+):([\w%-]+)/force")


class Pair(NamedTuple):
    """Indices of two bodies, -1 for the world; the force is that of `a` on `b`."""

    a: int
    b: int


def find_pair(path: str, bodies: Sequence[str]) -> Pair | None:
    """Return the bodies of `contacts/A:B/force`; None if there is no such channel."""
    match = _PATH.fullmatch(path)
    names = [decoded(component) for component in match.groups()] if match else []
    if len(set(names)) < 2 or not {*names} <= {WORLD, *bodies}:
        return None
    return Pair(*(-1 if name == WORLD else bodies.index(name) for name in names))


def pairs_in_contact(body_a: Array, body_b: Array) -> list[Pair]:
    """List the pairs among contacts (N,), each once, the smaller index first."""
    both = np.sort(np.column_stack([body_a, body_b]), axis=1)
    return [Pair(*row) for row in np.unique(both[both[:, 0] < both[:, 1]], axis=0).tolist()]


def paths_of(pair: Pair, bodies: Sequence[str]) -> tuple[str, str]:
    """Return the paths of the forces of a pair on its second and on its first body."""
    a, b = (WORLD if body < 0 else path_component(bodies[body]) for body in pair)
    return f"{GROUP}/{a}:{b}/force", f"{GROUP}/{b}:{a}/force"


def suggest(path: str, bodies: Sequence[str], known: Iterable[str]) -> str:
    """Return a hint for an unknown path: the unknown body of a pair, or the nearest of the known paths."""
    match = _PATH.fullmatch(path)
    if match is None:
        return nearest(path, known)
    for name in map(decoded, match.groups()):
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
