"""The channels of contacts, whose number changes from instant to instant.

What belongs to a contact is a flat dataset with the contacts of all instants in a row, a contiguous ragged array in the
words of the CF conventions (section 9.3.3); `contacts/offset` says where the contacts of an instant begin and end.  To
add one, add an entry to `CONTACT_CHANNELS`, and what it shows to `output.history.Contacts`.
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
OWNER = f"{GROUP}/instant"


def _of_each(
    name: str, units: str, description: str, select: Callable[[Contacts], Array], role: str, **more: Any
) -> Channel:
    """Describe a channel with a row for each contact."""

    def flat(block: Block, _: object) -> Array:
        return select(block.contacts)

    return Channel(f"{GROUP}/{name}", units, description, flat, role=role, per=CONTACT, element=GROUP, **more)


_WHOLE: dict[str, Any] = {"dtype": "<i8", "rtol": 0.0, "atol": 0.0}
"""A number that stands for a thing: another one means another thing."""

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
        "Largest tangential speed that the impulses of the step leave a contact that sticks.",
        lambda b, _: b.samples.creep,
        role="constraint",
        rtol=0.0,
        atol=1e-9,  # zero but for errors of the solution: only its size is compared, as a velocity
        element=GROUP,
    ),
    Channel(
        "contacts/residual",
        "1",
        "What is left of the conditions of contact and friction, relative to the impulses: the most since the instant "
        "before.",
        lambda b, _: b.samples.contact_residual,
        role="solver",
        rtol=0.0,
        atol=1e-6,
        element=IMPULSES,
    ),
    Channel(
        "contacts/unsolved",
        "1",
        "Steps since the instant before whose contacts and friction do not meet their tolerance.",
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
        "Where the contacts of each instant begin: those of instant k are the rows from offset[k] up to offset[k+1], "
        "without the latter, of the datasets with a row for each contact.",
        lambda b, _: b.contacts.end,
        role="instant",
        per=BOUND,
        element=GROUP,
        **_WHOLE,
    ),
    _of_each(
        "instant",
        "1",
        "Which output instant the contact belongs to, from 0 on.",
        lambda c: c.instant,
        "instant",
        **_WHOLE,
    ),
    _of_each(
        "body_a",
        "1",
        "First body A of the contact: its place in `bodies/name`, -1 for the world.",
        lambda c: c.bodies[:, 0],
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "body_b",
        "1",
        "Second body B of the contact: its place in `bodies/name`, -1 for the world.",
        lambda c: c.bodies[:, 1],
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "mode",
        "1",
        "What the contact does: 0 open, 1 it sticks, 2 it slips.",
        lambda c: c.mode,
        "contact mode",
        **_WHOLE,
    ),
    _of_each("point", "m", "Where the bodies touch.", lambda c: c.point, "coordinate", **_WORLD),
    _of_each("normal", "1", "Unit normal of the contact, from A to B.", lambda c: c.normal, "coordinate", **_WORLD),
    _of_each(
        "gap",
        "m",
        "Distance of the bodies along the normal; negative where they overlap.",
        lambda c: c.gap,
        "constraint",
        atol=1e-6,  # a small difference of positions, each of them known to 1e-6 of itself
    ),
    _of_each(
        "normal_impulse",
        "N s",
        "Impulse on B along the normal in the step that ended at the instant.",
        lambda c: c.impulse[:, 0],
        "reaction",
    ),
    _of_each(
        "tangential_impulse",
        "N s",
        "Impulse of friction on B in the step that ended at the instant.",
        lambda c: c.impulse[:, 1:],
        "reaction",
        **_WORLD,
    ),
)
"""They are there where a scene has contacts."""
