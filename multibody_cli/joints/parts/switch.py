"""The one place that branches on the kind of a part."""

from __future__ import annotations

from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.parts import ball, exponential, free, generated, screw
from multibody_cli.joints.parts.crossing import step_across, turn_columns
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load

SCREW, BALL, EXPONENTIAL, FREE, GENERATED = map(int, PartCode)


@kernel
def cross_part(part, frame, q, v, columns, shaping):
    """Move the record `frame` across one part, in place, and write the part's columns of S."""
    P = load(frame.R)
    if part.code == SCREW:
        step_across(frame, screw.across(part, P, part.iq, part.iv, q, v, columns))
    elif part.code == BALL:
        step_across(frame, ball.across(P, part.iq, part.iv, q, v, columns))
    elif part.code == EXPONENTIAL:
        step_across(frame, exponential.across(P, part.iq, part.iv, q, v, columns))
    elif part.code == FREE:
        step_across(frame, free.across(P, part.iq, part.iv, q, v, columns))
    elif part.code == GENERATED:
        step_across(frame, generated.across(part, P, q, v, shaping, columns))


@kernel
def differentiate_columns(part, w, frame, q, v, columns, rates, shaping):
    """Write dS/dt of the part that the record `frame` was just moved across; `w` is what its inner frame turns by.

    Columns turn with the frame in which they are constant; those of exponential and generated parts change in the
    outer one.
    """
    if part.code == SCREW:
        turn_columns(columns, rates, part.iv, part.iv + 1, w)
    elif part.code == FREE:
        turn_columns(columns, rates, part.iv, part.iv + 6, w)
    else:
        turn_columns(columns, rates, part.iv, part.iv + part.width, load(frame.w))
        if part.code == EXPONENTIAL:
            exponential.bend_columns(load(frame.R), part.iq, part.iv, q, v, rates)
        elif part.code == GENERATED:
            generated.bend_columns(part, load(frame.R), shaping, rates)
