"""Sections of elastic ropes: strain and tension."""

from __future__ import annotations

from multibody_cli.forces.elastic_section import count_turns, measure_section, stretch_of, tensions_of
from multibody_cli.forces.elements import ELASTIC_ROPES
from multibody_cli.kernel import kernel


@kernel
def observe(system, state, work, rows, samples, k):
    """Store strain and tension of each section of all elastic ropes."""
    ropes, spans, i = system.forces.tables[ELASTIC_ROPES], system.forces.spans, 0
    for j in range(len(ropes)):
        rope = ropes[j]
        first = rope.first
        count_turns(spans, system.forces.states, rope, state.q)
        while first < rope.last:
            section = measure_section(spans, system.forces.states, first, work.bodies, True)
            samples.section_strain[k, i] = stretch_of(section) - 1.0
            samples.section_tension[k, i], _, _ = tensions_of(rope, section)
            first, i = section.end, i + 1
