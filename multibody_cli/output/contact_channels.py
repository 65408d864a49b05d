"""Channels of contacts, whose number varies in time.

A channel with one row for each contact is a flat dataset that concatenates the contacts of all output instants (a
contiguous ragged array of the CF conventions, section 9.3.3).  `contacts/offset` stores the row range of each instant.
To add a channel, add an entry to `CONTACT_CHANNELS`, and a line to `observation/contacts.py`.
"""

from __future__ import annotations

from functools import partial
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
)
"""Channels of a scene with contacts."""
