"""Channels of contacts, whose number varies in time.

A channel with one row for each contact is a flat dataset that concatenates the contacts of all output instants (a
contiguous ragged array of the CF conventions, section 9.3.3).  `contacts/offset` stores the row range of each instant.
To add a channel, add an entry to `CONTACT_CHANNELS`, and its data to `output.history.Contacts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multibody_cli.output.channel import BOUND, CONTACT, Channel

if TYPE_CHECKING:
    from collections.abc import Callable

    from multibody_cli.output.channel import Array
    from multibody_cli.output.history import Block, Contacts

GROUP = "contacts"
IMPULSES = "impulses"
COUNT = f"{GROUP}/count"
CREEP = f"{GROUP}/creep"
OFFSET = f"{GROUP}/offset"
INSTANT_OF_CONTACT = f"{GROUP}/instant"


def _of_each(
    name: str, units: str, description: str, select: Callable[[Contacts], Array], role: str, **more: Any
) -> Channel:
    """Declare a channel with one row for each contact."""

    def flat(block: Block, _: object) -> Array:
        return select(block.contacts)

    return Channel(f"{GROUP}/{name}", units, description, flat, role=role, per=CONTACT, element=GROUP, **more)


_WHOLE: dict[str, Any] = {"dtype": "<i8", "rtol": 0.0, "atol": 0.0}
"""An index or a count: compared exactly."""

_WORLD: dict[str, Any] = {"frame": "world", "dimensions": ("xyz",)}

CONTACT_CHANNELS: tuple[Channel, ...] = (
    Channel(
        COUNT,
        "1",
        "Number of contacts.",
        lambda b, _: b.samples.contact_count,
        role="contact mode",
        element=GROUP,
        **_WHOLE,
    ),
    Channel(
        CREEP,
        "m/s",
        "Largest tangential speed of a sticking contact at the end of the step.",
        lambda b, _: b.samples.creep,
        role="constraint",
        rtol=0.0,
        atol=1e-9,  # the exact value is zero, so only an absolute tolerance applies, that of velocities
        element=GROUP,
    ),
    Channel(
        "contacts/residual",
        "1",
        "Largest residual of the contact and friction conditions in a step since the last output, relative to the "
        "impulses.",
        lambda b, _: b.samples.contact_residual,
        role="solver",
        rtol=0.0,
        atol=1e-6,
        element=IMPULSES,
    ),
    Channel(
        "contacts/unsolved",
        "1",
        "Steps since the last output whose contacts and friction did not converge to their tolerance.",
        lambda b, _: b.samples.contacts_unsolved,
        role="solver",
        rtol=0.0,
        atol=0.0,
        dtype="<i8",
        element=IMPULSES,
    ),
    Channel(
        OFFSET,
        "1",
        "First row of the contacts of each instant: those of instant k are rows offset[k] to offset[k+1] - 1 of the "
        "datasets with one row for each contact.",
        lambda b, _: b.contacts.end,
        role="instant",
        per=BOUND,
        element=GROUP,
        **_WHOLE,
    ),
    _of_each(
        "instant",
        "1",
        "Index of the output instant of the contact, from 0.",
        lambda c: c.instant,
        "instant",
        **_WHOLE,
    ),
    _of_each(
        "body_a",
        "1",
        "Body A of the contact: its index in `bodies/name`, -1 for the world.",
        lambda c: c.bodies[:, 0],
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "body_b",
        "1",
        "Body B of the contact: its index in `bodies/name`, -1 for the world.",
        lambda c: c.bodies[:, 1],
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "mode",
        "1",
        "Mode of the contact: 0 open, 1 sticking, 2 slipping.",
        lambda c: c.mode,
        "contact mode",
        **_WHOLE,
    ),
    _of_each("point", "m", "Position of the contact point.", lambda c: c.point, "coordinate", **_WORLD),
    _of_each("normal", "1", "Unit normal of the contact, from A to B.", lambda c: c.normal, "coordinate", **_WORLD),
    _of_each(
        "gap",
        "m",
        "Signed distance of the bodies along the normal; negative in penetration.",
        lambda c: c.gap,
        "constraint",
        atol=1e-6,  # a small difference of positions, each of relative accuracy 1e-6
    ),
    _of_each(
        "normal_impulse",
        "N s",
        "Normal impulse on body B in the last step before the output.",
        lambda c: c.impulse[:, 0],
        "reaction",
    ),
    _of_each(
        "tangential_impulse",
        "N s",
        "Friction impulse on body B in the last step before the output.",
        lambda c: c.impulse[:, 1:],
        "reaction",
        **_WORLD,
    ),
)
"""Channels of a scene with contacts."""
