"""Straight parts of ropes and belts: length, rate and tension, which the friction at guides changes afterwards."""

from __future__ import annotations

import math

from multibody_cli.cables.rope import move_ends
from multibody_cli.cables.span import ends_of, lengthening_rate
from multibody_cli.constraints.elements import ROPES
from multibody_cli.kernel import lazy_kernel
from multibody_cli.spatial.products import dot


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the length of each straight part, its rate, and the tension of its section."""
    spans = system.constraints.tables[ROPES]
    move_ends(spans, system.constraints.points)
    for j in range(len(spans)):
        a, b = spans[j].a, spans[j].b
        ends = ends_of(a, b, work.bodies)
        samples.span_length[k, j] = math.sqrt(dot(ends.d, ends.d))
        samples.span_rate[k, j] = lengthening_rate(spans[j], system.constraints.points, ends, work.bodies)
        samples.span_tension[k, j] = work.rows[spans[j].first_row].multiplier + spans[j].pretension
