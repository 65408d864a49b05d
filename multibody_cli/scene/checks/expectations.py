"""Checks of assertions and events: channels exist, an instant is an output instant, a unit is that of its channel."""

from __future__ import annotations

from typing import Any

from multibody_cli.errors import QuantityError, nearest
from multibody_cli.escaping import decoded
from multibody_cli.limits import LimitError
from multibody_cli.nodes import NodePath
from multibody_cli.output.contact_channels import find_pair, suggest
from multibody_cli.scene.channels import OF_EACH_CONTACT, OF_PAIR, ChannelUnits, channels
from multibody_cli.scene.checks.partial_scene import PartialScene
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


def check_expectations(partial: PartialScene) -> None:
    """Check all assertions about channels."""
    known = channels(partial.scene) if partial.scene.expect else {}
    for index, expectation in zip(partial.kept, partial.scene.expect, strict=True):
        if isinstance(expectation, ValueExpectation):
            _check_instant(partial, ("expect", index, "at"), expectation)
        if isinstance(expectation, ChannelExpectation):
            for reference in expectation.channels:
                _check_channel(partial, ("expect", index), expectation, reference, known)
        if isinstance(expectation, EventExpectation) and expectation.event not in partial.names("events"):
            message = f"unknown event `{expectation.event}`; {nearest(expectation.event, partial.names('events'))}"
            partial.report(("expect", index, "event"), message)


def check_events(partial: PartialScene) -> None:
    """Check the channels of the expressions of events, and the constraints of their impacts."""
    known = channels(partial.scene) if partial.scene.events else {}
    for name, event in partial.scene.events.items():
        for reference in channels_of(event.when):
            check_reference(partial, ("events", name, "when"), reference, known)
        if event.impact is not None and (held := event.impact.constraint) not in partial.names("constraints"):
            message = f"unknown constraint `{held}`; {nearest(held, partial.names('constraints'))}"
            partial.report(("events", name, "impact", "constraint"), message)


def _check_instant(partial: PartialScene, path: NodePath, expectation: ValueExpectation) -> None:
    if expectation.at == "final" or partial.broken & {"simulation", "output"}:
        return
    try:
        instants = timing(partial.scene.simulation, partial.scene.output)
    except (QuantityError, LimitError):
        return  # reported by the check of the times
    try:
        instants.index_of(float(expectation.at))
    except QuantityError as error:
        partial.report(path, str(error))


def _check_channel(
    partial: PartialScene,
    path: NodePath,
    expectation: ChannelExpectation,
    reference: ChannelReference,
    known: dict[str, ChannelUnits],
) -> None:
    if expectation.expression is not None:
        check_reference(partial, (*path, "expression"), reference, known)
        return
    name = reference.channel
    channel = _known_channel(partial, (*path, "channel"), name, known)
    if channel is None:
        return
    chosen = _component(reference, channel)
    if chosen is None:
        partial.report((*path, "component"), _why_no_component(name, channel))
    else:
        _check_values(partial, path, channel, chosen)


def check_reference(
    partial: PartialScene, path: NodePath, reference: ChannelReference, known: dict[str, ChannelUnits]
) -> None:
    """Check a channel that an expression at a path reads: it exists, and is a number."""
    name = reference.channel
    channel = _known_channel(partial, path, name, known)
    if channel is None:
        return
    chosen = _component(reference, channel)
    if chosen is None:
        partial.report(path, _why_no_component(name, channel))
    elif len(chosen) > 1:
        partial.report(path, f"`{name}` has {channel.width} components: select one, as in `...[0]`")


def _known_channel(
    partial: PartialScene, path: NodePath, name: str, known: dict[str, ChannelUnits]
) -> ChannelUnits | None:
    """Return a channel; report a problem at a path if there is none."""
    if partial.scene.contacts is not None and find_pair(name, sorted(partial.bodies)):
        return OF_PAIR
    # an invalid element has no channels; its own problem is reported already
    if name not in known and not _belongs_to_broken(partial, name):
        partial.report(path, _why_unknown(partial, name, known))
    return known.get(name)


def _why_no_component(name: str, channel: ChannelUnits) -> str:
    if channel.width == 1:
        return f"has no effect: `{name}` is a single number"
    letters = _LETTERS.get(channel.width)
    words = f", or one of {', '.join(letters)}" if letters else ""
    return f"`{name}` has {channel.width} components: expected an index below {channel.width}{words}"


def _why_unknown(partial: PartialScene, name: str, known: dict[str, ChannelUnits]) -> str:
    if partial.scene.contacts is None and name.startswith("contacts/"):
        return f"unknown channel `{name}`: contacts are disabled without a section `contacts: {{}}`"
    if name in OF_EACH_CONTACT:
        return f"`{name}` has one value per contact, not per instant: use `contacts/count` or `contacts/creep`"
    return f"unknown channel `{name}`; {suggest(name, sorted(partial.bodies), known)}"


def _belongs_to_broken(partial: PartialScene, name: str) -> bool:
    section, _, rest = name.partition("/")
    if section == "contacts":
        return "contacts" in partial.broken
    element = decoded(rest.rpartition("/")[0])
    if section == "energy":
        return bool(partial.broken & _WITH_ACCOUNTS)
    return element in partial.names(section) and element not in getattr(partial.scene, section)


def _component(reference: ChannelReference, channel: ChannelUnits) -> list[int] | None:
    """Return the indices of the selected components; None if the channel has no such component."""
    component = reference.component
    if component is None:
        return list(range(channel.width))
    if channel.width == 1:
        return None
    index = _LETTERS.get(channel.width, "").find(component) if isinstance(component, str) else component
    return [index] if 0 <= index < channel.width else None


def _check_values(partial: PartialScene, path: NodePath, channel: ChannelUnits, chosen: list[int]) -> None:
    written: Any = partial.data["expect"][path[1]]
    for field in _MEASURED:
        if field not in written:
            continue
        value = written[field]
        place = (*path, field)
        if not isinstance(value, list):
            if field == "value" and len(chosen) > 1:
                partial.report(place, f"expected a list of {len(chosen)} numbers, or a `component`")
            else:
                _check_unit(partial, place, value, channel, chosen[:1])
        elif len(value) != len(chosen):
            partial.report(place, f"expected {len(chosen)} number(s), found {len(value)}")
        else:
            for number, index in enumerate(chosen):
                _check_unit(partial, (*place, number), value[number], channel, [index])


def _check_unit(partial: PartialScene, path: NodePath, value: Any, channel: ChannelUnits, chosen: list[int]) -> None:
    try:
        for index in chosen:
            read_quantity(value, channel.kinds[index])
    except QuantityError as error:
        partial.report(path, str(error))
