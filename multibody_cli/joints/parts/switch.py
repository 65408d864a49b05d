"""Dispatch on the kind of a part."""

from __future__ import annotations

from multibody_cli.joints.contract import PartCode
from multibody_cli.joints.parts import ball, exponential, free, generated, offset, screw
from multibody_cli.joints.parts.crossing import rotate_columns, step_across
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load

SCREW, BALL, EXPONENTIAL, FREE, GENERATED, OFFSET = map(int, PartCode)


@kernel
def cross_part(part, frame, q, v, columns, generated_buffers):
    """Propagate the record `frame` across one part, in place, and write the part's columns of S."""
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
        step_across(frame, generated.across(part, P, q, v, generated_buffers, columns))
    elif part.code == OFFSET:
        step_across(frame, offset.across(part, P))


@kernel
def differentiate_columns(part, w, frame, q, v, columns, rates, generated_buffers):
    """Write dS/dt of the part that `frame` was just propagated across; `w` is the angular velocity of its inner frame.

    Columns rotate with the frame in which they are constant; those of exponential and generated parts also change in
    the outer frame.
    """
    if part.code == SCREW:
        rotate_columns(columns, rates, part.iv, part.iv + 1, w)
    elif part.code == FREE:
        rotate_columns(columns, rates, part.iv, part.iv + 6, w)
    else:
        rotate_columns(columns, rates, part.iv, part.iv + part.width, load(frame.w))
        if part.code == EXPONENTIAL:
            exponential.add_subspace_change(load(frame.R), part.iq, part.iv, q, v, rates)
        elif part.code == GENERATED:
            generated.add_subspace_change(part, load(frame.R), generated_buffers, rates)
