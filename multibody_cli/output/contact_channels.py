"""Channels of contacts, whose number varies in time.

A channel with one row for each contact is a flat dataset that concatenates the contacts of all output instants (a
contiguous ragged array of the CF conventions, section 9.3.3).  `contacts/offset` stores the row range of each instant.
To add a channel, add an entry to `CONTACT_CHANNELS`, and a line to `observation/contacts.py`.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.output.channel import BOUND, CONTACT, Channel

GROUP = "contacts"
IMPULSES = "impulses"
COUNT = f"{GROUP}/count"
CREEP = f"{GROUP}/creep"
OFFSET = f"{GROUP}/offset"
STEP = f"{GROUP}/step"
INSTANT_OF_CONTACT = f"{GROUP}/instant"
BODY_PAIR = (f"{GROUP}/body_a", f"{GROUP}/body_b")


def _of_each(name: str, units: str, description: str, field: str, role: str, **more: Any) -> Channel:
    """Declare a channel with one row for each contact."""
    path, reader = f"{GROUP}/{name}", "contacts" if field else ""
    return Channel(path, units, description, field, reader, role=role, per=CONTACT, element=GROUP, **more)


_WHOLE: dict[str, Any] = {"dtype": "<i8", "rtol": 0.0, "atol": 0.0}
"""An index or a count: compared exactly."""

_WORLD: dict[str, Any] = {"frame": "world", "dimensions": ("xyz",)}

_RESULTANT: dict[str, Any] = {"frame": "world", "dimensions": ("body", "xyz"), "role": "reaction", "element": GROUP}

CONTACT_CHANNELS: tuple[Channel, ...] = (
    Channel(
        "bodies/contact_force",
        "N",
        "Resultant of the contacts on each body: impulses of the last step before the output, divided by the step.",
        "contact_force",
        "contacts",
        **_RESULTANT,
    ),
    Channel(
        "bodies/contact_torque",
        "N m",
        "Torque of the contacts on each body about the origin of its frame, as for the force.",
        "contact_torque",
        "contacts",
        **_RESULTANT,
    ),
    Channel(
        COUNT,
        "1",
        "Number of contacts.",
        "contact_count",
        "contacts",
        role="contact mode",
        element=GROUP,
        **_WHOLE,
    ),
    Channel(
        CREEP,
        "m/s",
        "Largest tangential speed of a sticking contact at the end of the step.",
        "creep",
        "contacts",
        role="constraint",
        rtol=0.0,
        atol=1e-9,  # the exact value is zero, so only an absolute tolerance applies, that of velocities
        element=GROUP,
    ),
    Channel(
        STEP,
        "s",
        "Length of the last step before the output, by which impulses are divided to obtain forces.",
        "contact_step",
        "contacts",
        role="instant",
        atol=1e-12,
        element=GROUP,
    ),
    Channel(
        "contacts/residual",
        "1",
        "Largest residual of the contact and friction conditions in a step since the last output, relative to the "
        "impulses.",
        "contact_residual",
        lambda report: report.contact_residual,
        role="solver",
        rtol=0.0,
        atol=1e-6,
        element=IMPULSES,
    ),
    Channel(
        "contacts/unsolved",
        "1",
        "Steps since the last output whose contacts and friction did not converge to their tolerance.",
        "contacts_unsolved",
        lambda report: report.unsolved,
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
        select=lambda block, _: block.contacts.end,
        role="instant",
        per=BOUND,
        element=GROUP,
        **_WHOLE,
    ),
    _of_each(
        "instant",
        "1",
        "Index of the output instant of the contact, from 0.",
        "",
        "instant",
        select=lambda block, _: block.contacts.instant,
        **_WHOLE,
    ),
    _of_each(
        "body_a",
        "1",
        "Body A of the contact: its index in `bodies/name`, -1 for the world.",
        "contact_body_a",
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "body_b",
        "1",
        "Body B of the contact: its index in `bodies/name`, -1 for the world.",
        "contact_body_b",
        "contact mode",
        **_WHOLE,
    ),
    _of_each(
        "mode",
        "1",
        "Mode of the contact: 0 open, 1 sticking, 2 slipping.",
        "contact_mode",
        "contact mode",
        **_WHOLE,
    ),
    _of_each("point", "m", "Position of the contact point.", "contact_point", "coordinate", **_WORLD),
    _of_each("normal", "1", "Unit normal of the contact, from A to B.", "contact_normal", "coordinate", **_WORLD),
    _of_each(
        "gap",
        "m",
        "Signed distance of the bodies along the normal; negative in penetration.",
        "contact_gap",
        "constraint",
        atol=1e-6,  # a small difference of positions, each of relative accuracy 1e-6
    ),
    _of_each(
        "normal_impulse",
        "N s",
        "Normal impulse on body B in the last step before the output.",
        "contact_normal_impulse",
        "reaction",
    ),
    _of_each(
        "tangential_impulse",
        "N s",
        "Friction impulse on body B in the last step before the output.",
        "contact_tangential_impulse",
        "reaction",
        **_WORLD,
    ),
)
"""Channels of a scene with contacts."""
