"""Channels of ropes and belts."""

from __future__ import annotations

from functools import partial

from multibody_cli.output.channel import Channel

_of_spans = partial(Channel, reader="ropes", dimensions=("span",))
_of_sections = partial(Channel, reader="elastic_ropes", dimensions=("section",))

ROPE_CHANNELS: tuple[Channel, ...] = (
    _of_spans(
        "constraints/{rope}/length",
        "m",
        "Length of each straight part, in the order of the rope; those of a belt begin at the first pulley that it "
        "turns.",
        "span_length",
    ),
    _of_spans("constraints/{rope}/rate", "m/s", "Rate of the length of each straight part.", "span_rate"),
    _of_spans(
        "constraints/{rope}/tension", "N", "Tension of each straight part.", "span_tension", role="reaction", atol=1e-7
    ),
    _of_sections(
        "springs/{elastic_rope}/strain",
        "1",
        "Strain of each section between ends and pulleys that the rope turns, below 0 where it is slack, and -1 "
        "where the pulleys have taken up its material; those of a belt begin at the first pulley that it turns.",
        "section_strain",
    ),
    _of_sections("springs/{elastic_rope}/tension", "N", "Tension of each section.", "section_tension"),
    Channel(
        "constraints/{friction_rope}/friction",
        "N",
        "Friction at each guide, or pulley over which the rope slides, with a coefficient: the tension behind it less "
        "that before it.",
        "guide_friction",
        "guides",
        dimensions=("guide",),
        role="reaction",
        atol=1e-7,
    ),
)
"""Entries of `channels.CHANNELS`."""
