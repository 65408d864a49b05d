"""Elements of a model that have channels, and the axes of their quantities.

A placeholder of a path, such as `{joint}`, is a key of `EXPANSIONS`; an axis after the first is a key of `DIMENSIONS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from multibody_cli.escaping import path_component
from multibody_cli.output.channel import AXES, CONTACT, VARIATIONAL_STEPS, Channel, Item
from multibody_cli.output.contact_channels import GROUP, IMPULSES, MOMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from multibody_cli.model import ActuationEntry, SceneNames


class Expansion(NamedTuple):
    """The elements for which a channel is written.

    Parameters
    ----------
    items
        The elements of a model.
    length
        Length of the axis of the elements in `Samples`; None if there is no such axis.
    """

    items: Callable[[SceneNames], list[Item]]
    length: Callable[[SceneNames], int] | None = None


class AxisScale(NamedTuple):
    """An axis other than the first: path of its scale in the result file, and a label for each index."""

    path: str
    labels: tuple[str, ...]


class ChannelAxis(NamedTuple):
    """An axis of a quantity.

    Parameters
    ----------
    of
        The axis of one element.
    total
        Of an axis whose length depends on the element: the length of all elements together.  `Samples` holds the
        elements side by side along this one axis.
    """

    of: Callable[[SceneNames, Item], AxisScale]
    total: Callable[[SceneNames], int] | None = None


def _joint_items(names: SceneNames) -> list[Item]:
    return [
        Item(
            path_component(joint.name), row, joint.columns, tuple(kind.value for kind in joint.coordinates), joint.same
        )
        for row, joint in enumerate(names.joints)
    ]


def _constraint_items(section: str) -> Callable[[SceneNames], list[Item]]:
    return lambda names: [
        Item(path_component(entry.name), columns=entry.rows, units=("",) * (entry.rows.stop - entry.rows.start))
        for entry in names.constraint_entries
        if entry.section == section
    ]


def _path_items(names: SceneNames) -> list[Item]:
    parts = zip(names.paths, names.parts_of_paths, strict=True)
    return [Item(path_component(name), index, parts=own) for index, (name, own) in enumerate(parts)]


def _brake_items(section: str) -> Callable[[SceneNames], list[Item]]:
    return lambda names: [
        Item(path_component(name), column) for column, (own, name) in enumerate(names.brakes) if own == section
    ]


def _piece_items(pieces: Callable[[SceneNames], Sequence[ActuationEntry]]) -> Callable[[SceneNames], list[Item]]:
    return lambda names: [
        Item(path_component(one.name), columns=one.columns, units=("",) * (one.columns.stop - one.columns.start))
        for one in pieces(names)
    ]


def _piece_axis(word: str, pieces: Callable[[SceneNames], Sequence[ActuationEntry]]) -> ChannelAxis:
    return ChannelAxis(
        lambda _, item: _numbered_axis(word, len(item.units)),
        lambda names: max((one.columns.stop for one in pieces(names)), default=0),
    )


def _account_items(kind: str) -> Callable[[SceneNames], list[Item]]:
    return lambda names: [
        Item(account.cause, column) for column, account in enumerate(names.accounts) if account.kind == kind
    ]


def _actuation_items(entries: Sequence[ActuationEntry]) -> list[Item]:
    return [
        Item(path_component(entry.name), columns=entry.columns, labels=entry.coordinates)
        for entry in entries
        if entry.coordinates
    ]


EXPANSIONS: dict[str, Expansion] = {
    "": Expansion(lambda names: [Item()]),
    "affine": Expansion(lambda names: _numbered(names.affine), lambda names: len(names.affine)),
    "joint": Expansion(_joint_items, lambda names: len(names.joints)),
    "input": Expansion(lambda names: _numbered(names.inputs), lambda names: len(names.inputs)),
    "path": Expansion(_path_items, lambda names: len(names.paths)),
    "tension": Expansion(lambda names: _numbered(names.tensions), lambda names: len(names.tensions)),
    "spring": Expansion(lambda names: _numbered(names.springs), lambda names: len(names.springs)),
    "muscle": Expansion(
        lambda names: _numbered([entry.name for entry in names.muscles]), lambda names: len(names.muscles)
    ),
    "actuator": Expansion(lambda names: _actuation_items(names.actuators)),
    "filtered": Expansion(lambda names: _numbered(names.filtered), lambda names: len(names.filtered)),
    "crossing": Expansion(lambda names: _actuation_items(names.muscles)),
    "sensor": Expansion(lambda names: _numbered(names.sensors), lambda names: len(names.sensors)),
    "combination": Expansion(lambda names: _numbered(names.combinations), lambda names: len(names.combinations)),
    "limited_combination": Expansion(_constraint_items("combinations")),
    "point": Expansion(
        lambda names: [Item("/".join(map(path_component, point)), index) for index, point in enumerate(names.points)],
        lambda names: len(names.points),
    ),
    "friction_joint": Expansion(
        lambda names: _numbered(names.friction_joints), lambda names: len(names.friction_joints)
    ),
    "braked_combination": Expansion(_brake_items("combinations"), lambda names: len(names.brakes)),
    "braked_path": Expansion(_brake_items("paths"), lambda names: len(names.brakes)),
    "rope": Expansion(_piece_items(lambda names: names.ropes)),
    "elastic_rope": Expansion(_piece_items(lambda names: names.elastic_ropes)),
    "friction_rope": Expansion(_piece_items(lambda names: names.friction_ropes)),
    "wrench": Expansion(
        lambda names: [
            Item(f"{cause}/{path_component(body)}", index) for index, (cause, body) in enumerate(names.wrenches)
        ],
        lambda names: len(names.wrenches),
    ),
    "bushing": Expansion(lambda names: _numbered(names.bushings), lambda names: len(names.bushings)),
    "limited": Expansion(_constraint_items("joints")),
    "coupling": Expansion(_constraint_items("couplings")),
    "constraint": Expansion(_constraint_items("constraints")),
    "work": Expansion(_account_items("work"), lambda names: len(names.accounts)),
    "dissipation": Expansion(_account_items("dissipation"), lambda names: len(names.accounts)),
    "four_bar": Expansion(lambda names: _numbered(names.four_bars), lambda names: len(names.four_bars)),
    GROUP: Expansion(lambda names: [Item()] if names.contacts else []),
    IMPULSES: Expansion(lambda names: [Item()] if names.contacts or names.has_dry_friction else []),
    MOMENTS: Expansion(lambda names: [Item()] if names.resists_rolling else []),
    VARIATIONAL_STEPS: Expansion(lambda names: [Item()] if names.variational else []),
}
"""Elements of a model for each placeholder of a path, or for each `element` of a channel."""


def _constant(name: str) -> ChannelAxis:
    return ChannelAxis(lambda *_: AxisScale(name, AXES[name]))


def _numbered_axis(path: str, length: int) -> AxisScale:
    return AxisScale(f"{path}_{length}", tuple(str(index) for index in range(length)))


def _actuation_axis(section: str, name: str, entries: Callable[[SceneNames], Sequence[ActuationEntry]]) -> ChannelAxis:
    return ChannelAxis(
        lambda _, item: AxisScale(f"{section}/{item.text}/{name}", item.labels),
        lambda names: sum(len(entry.coordinates) for entry in entries(names)),
    )


DIMENSIONS: dict[str, ChannelAxis] = {
    **{name: _constant(name) for name in AXES},
    "body": ChannelAxis(lambda names, _: AxisScale("bodies/name", names.bodies)),
    "row": ChannelAxis(
        lambda _, entry: _numbered_axis("rows", len(entry.units)),
        lambda names: max((entry.rows.stop for entry in names.constraint_entries), default=0),
    ),
    "span": _piece_axis("spans", lambda names: names.ropes),
    "section": _piece_axis("sections", lambda names: names.elastic_ropes),
    "guide": _piece_axis("guides", lambda names: names.friction_ropes),
    "crossed": _actuation_axis("muscles", "crossed", lambda names: names.muscles),
    "actuated": _actuation_axis("actuators", "actuated", lambda names: names.actuators),
    "coordinate": ChannelAxis(
        lambda _, joint: _numbered_axis("coordinates", len(joint.units)), lambda names: len(names.coordinates)
    ),
}
"""The axes after the first."""


def is_ragged(channel: Channel) -> bool:
    """Whether the length of the last axis depends on the element."""
    return bool(channel.dimensions) and DIMENSIONS[channel.dimensions[-1]].total is not None


def sample_shape(channel: Channel, names: SceneNames) -> tuple[int, ...]:
    """Return the shape of the field of a channel at one instant: that of all elements; empty if the model has none."""
    length = EXPANSIONS[channel.expansion].length
    first = (names.contacts,) if channel.per == CONTACT else ()
    if length is not None and not is_ragged(channel):
        first = (length(names),)
    shape = *first, *(_sample_length(DIMENSIONS[dimension], names) for dimension in channel.dimensions)
    return (0,) * len(shape) if channel.element and not EXPANSIONS[channel.element].items(names) else shape


def _sample_length(axis: ChannelAxis, names: SceneNames) -> int:
    return axis.total(names) if axis.total is not None else len(axis.of(names, Item()).labels)


def _numbered(names: Sequence[str]) -> list[Item]:
    return [Item(path_component(name), index) for index, name in enumerate(names)]
