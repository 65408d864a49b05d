"""Sections of elastic ropes: strain and tension."""

from __future__ import annotations

from multibody_cli.forces.elastic_section import measure_section, place_ends, stretch_of, tensions_of
from multibody_cli.forces.elements import ELASTIC_ROPES
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store strain and tension of each section of all elastic ropes."""
    forces, i = system.forces, 0
    ropes, spans, points = forces.tables[ELASTIC_ROPES], forces.spans, forces.points
    for j in range(len(ropes)):
        rope = ropes[j]
        first = rope.first
        place_ends(spans, forces.states, points, rope, state.q)
        while first < rope.last:
            section = measure_section(spans, forces.states, points, first, work.bodies, True)
            samples.section_strain[k, i] = stretch_of(section) - 1.0
            samples.section_tension[k, i], _, _ = tensions_of(rope, section)
            first, i = section.end, i + 1
