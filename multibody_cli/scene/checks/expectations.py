"""Checks of assertions and events: channels exist, an instant is an output instant, a unit is that of its channel."""

from __future__ import annotations

from typing import Any

from multibody_cli.errors import QuantityError, nearest
from multibody_cli.escaping import decoded
from multibody_cli.limits import LimitError
from multibody_cli.nodes import NodePath
from multibody_cli.output.contact_channels import find_pair, suggest
from multibody_cli.scene.channels import OF_EACH_CONTACT, OF_PAIR, ChannelUnits, channels
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.expect import (
    ChannelExpectation,
    ChannelReference,
    EventExpectation,
    ValueExpectation,
    channels_of,
)
from multibody_cli.scene.timing import timing
from multibody_cli.spec.quantities import read_quantity

_LETTERS = {3: "xyz", 4: "wxyz"}
_MEASURED = ("value", "atol", "max", "min", "certified")
_WITH_ACCOUNTS = frozenset({"joints", "forces", "springs", "muscles", "contacts", "actuators"})
"""Sections whose entries have energy accounts."""


def check_expectations(draft: Draft) -> None:
    """Check all assertions about channels."""
    known = channels(draft.scene) if draft.scene.expect else {}
    for index, expectation in zip(draft.kept, draft.scene.expect, strict=True):
        if isinstance(expectation, ValueExpectation):
            _check_instant(draft, ("expect", index, "at"), expectation)
        if isinstance(expectation, ChannelExpectation):
            for reference in expectation.channels:
                _check_channel(draft, ("expect", index), expectation, reference, known)
        if isinstance(expectation, EventExpectation) and expectation.event not in draft.names("events"):
            message = f"unknown event `{expectation.event}`; {nearest(expectation.event, draft.names('events'))}"
            draft.report(("expect", index, "event"), message)


def check_events(draft: Draft) -> None:
    """Check the channels of the expressions of events, and the constraints of their impacts."""
    known = channels(draft.scene) if draft.scene.events else {}
    for name, event in draft.scene.events.items():
        for reference in channels_of(event.when):
            check_reference(draft, ("events", name, "when"), reference, known)
        if event.impact is not None and (held := event.impact.constraint) not in draft.names("constraints"):
            message = f"unknown constraint `{held}`; {nearest(held, draft.names('constraints'))}"
            draft.report(("events", name, "impact", "constraint"), message)


def _check_instant(draft: Draft, path: NodePath, expectation: ValueExpectation) -> None:
    if expectation.at == "final" or draft.broken & {"simulation", "output"}:
        return
    try:
        instants = timing(draft.scene.simulation, draft.scene.output)
    except (QuantityError, LimitError):
        return  # reported by the check of the times
    try:
        instants.index_of(float(expectation.at))
    except QuantityError as error:
        draft.report(path, str(error))


def _check_channel(
    draft: Draft,
    path: NodePath,
    expectation: ChannelExpectation,
    reference: ChannelReference,
    known: dict[str, ChannelUnits],
) -> None:
    if expectation.expression is not None:
        check_reference(draft, (*path, "expression"), reference, known)
        return
    name = reference.channel
    channel = _known_channel(draft, (*path, "channel"), name, known)
    if channel is None:
        return
    chosen = _component(reference, channel)
    if chosen is None:
        draft.report((*path, "component"), _why_no_component(name, channel))
    else:
        _check_values(draft, path, channel, chosen)


def check_reference(draft: Draft, path: NodePath, reference: ChannelReference, known: dict[str, ChannelUnits]) -> None:
    """Check a channel that an expression at a path reads: it exists, and is a number."""
    name = reference.channel
    channel = _known_channel(draft, path, name, known)
    if channel is None:
        return
    chosen = _component(reference, channel)
    if chosen is None:
        draft.report(path, _why_no_component(name, channel))
    elif len(chosen) > 1:
        draft.report(path, f"`{name}` has {channel.width} components: select one, as in `...[0]`")


def _known_channel(draft: Draft, path: NodePath, name: str, known: dict[str, ChannelUnits]) -> ChannelUnits | None:
    """Return a channel; report a problem at a path if there is none."""
    if draft.scene.contacts is not None and find_pair(name, sorted(draft.bodies)):
        return OF_PAIR
    # an invalid element has no channels; its own problem is reported already
    if name not in known and not _belongs_to_broken(draft, name):
        draft.report(path, _why_unknown(draft, name, known))
    return known.get(name)


def _why_no_component(name: str, channel: ChannelUnits) -> str:
    if channel.width == 1:
        return f"has no effect: `{name}` is a single number"
    letters = _LETTERS.get(channel.width)
    words = f", or one of {', '.join(letters)}" if letters else ""
    return f"`{name}` has {channel.width} components: expected an index below {channel.width}{words}"


def _why_unknown(draft: Draft, name: str, known: dict[str, ChannelUnits]) -> str:
    if draft.scene.contacts is None and name.startswith("contacts/"):
        return f"unknown channel `{name}`: contacts are disabled without a section `contacts: {{}}`"
    if name in OF_EACH_CONTACT:
        return f"`{name}` has one value per contact, not per instant: use `contacts/count` or `contacts/creep`"
    return f"unknown channel `{name}`; {suggest(name, sorted(draft.bodies), known)}"


def _belongs_to_broken(draft: Draft, name: str) -> bool:
    section, _, rest = name.partition("/")
    if section == "contacts":
        return "contacts" in draft.broken
    element = decoded(rest.rpartition("/")[0])
    if section == "energy":
        return bool(draft.broken & _WITH_ACCOUNTS)
    return element in draft.names(section) and element not in getattr(draft.scene, section)


def _component(reference: ChannelReference, channel: ChannelUnits) -> list[int] | None:
    """Return the indices of the selected components; None if the channel has no such component."""
    component = reference.component
    if component is None:
        return list(range(channel.width))
    if channel.width == 1:
        return None
    index = _LETTERS.get(channel.width, "").find(component) if isinstance(component, str) else component
    return [index] if 0 <= index < channel.width else None


def _check_values(draft: Draft, path: NodePath, channel: ChannelUnits, chosen: list[int]) -> None:
    written: Any = draft.data["expect"][path[1]]
    for field in _MEASURED:
        if field not in written:
            continue
        value = written[field]
        place = (*path, field)
        if not isinstance(value, list):
            if field == "value" and len(chosen) > 1:
                draft.report(place, f"expected a list of {len(chosen)} numbers, or a `component`")
            else:
                _check_unit(draft, place, value, channel, chosen[:1])
        elif len(value) != len(chosen):
            draft.report(place, f"expected {len(chosen)} number(s), found {len(value)}")
        else:
            for number, index in enumerate(chosen):
                _check_unit(draft, (*place, number), value[number], channel, [index])


def _check_unit(draft: Draft, path: NodePath, value: Any, channel: ChannelUnits, chosen: list[int]) -> None:
    try:
        for index in chosen:
            read_quantity(value, channel.kinds[index])
    except QuantityError as error:
        draft.report(path, str(error))
