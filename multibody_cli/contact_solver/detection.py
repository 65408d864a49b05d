"""Contacts of a step: near geoms by the velocities at its start, contacts by those without contacts."""

from __future__ import annotations

import math

from multibody_cli.contacts.detect import detect_in_step, find_near_pairs
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import dot


@kernel
def detection_margin(geometry, bodies, margin, h) -> float:
    """Detection margin, m: the distance covered in two steps by the fastest point of any geom."""
    geoms, fastest = geometry.geoms, 0.0
    for g in range(len(geoms)):
        body = bodies[geoms[g].body]
        w, v = load(body.w), load(body.v)
        if geoms[g].body > 0:
            arm = math.sqrt(dot(load(geoms[g].x), load(geoms[g].x))) + geoms[g].bounding_radius
            fastest = max(fastest, math.sqrt(dot(v, v)) + math.sqrt(dot(w, w)) * arm)
    g = load(bodies[0].a)
    return margin + 2.0 * h * (fastest + h * math.sqrt(dot(g, g)))


@lazy_kernel
def detect_near_geoms(system, work, detection, h) -> int:
    """List the pairs of geoms that may meet in the step, from the velocities at its start; return their number."""
    geometry, bodies = system.contacts.geometry, work.bodies
    return find_near_pairs(geometry, bodies, detection_margin(geometry, bodies, system.contacts.margin, h), detection)


@lazy_kernel
def detect_contacts(system, work, detection, h) -> int:
    """Detect contacts from the current poses of the bodies and their velocities v*; return their number."""
    contacts = system.contacts
    count, overflow = detect_in_step(contacts.geometry, work.bodies, contacts.margin, h, detection)
    detection.overflow[0] = overflow != 0
    return min(count, len(detection.contacts))


@kernel
def keep_start_velocities(bodies, start):
    """Store the twists of all bodies at the start of the step."""
    for i in range(len(start)):
        store(start[i].w, load(bodies[i].w))
        store(start[i].v, load(bodies[i].v))
