"""Coefficients of the contacts of two geoms: combined from those of both, or those of their pair of bodies."""

from __future__ import annotations

import math

from multibody_cli.contacts.grid import place_of_pair
from multibody_cli.kernel import kernel

RULES = ("geometric_mean", "harmonic_mean", "average", "minimum", "maximum", "product")
"""Rules of combination; kernels have their numbers."""

GEOMETRIC_MEAN, HARMONIC_MEAN, AVERAGE, MINIMUM, MAXIMUM, PRODUCT = range(len(RULES))


@kernel
def combined(rule, a, b) -> float:
    """Combine two coefficients, not negative, by the rule of a number."""
    if rule == GEOMETRIC_MEAN:
        return math.sqrt(a * b)
    if rule == MAXIMUM:
        return max(a, b)
    if rule == MINIMUM:
        return min(a, b)
    if rule == AVERAGE:
        return 0.5 * (a + b)
    if rule == PRODUCT:
        return a * b
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0


@kernel
def set_surfaces(contacts, first, last, a, b, geometry):
    """Set the coefficients of the contacts [first, last) of two geoms."""
    if first < last:
        combine_surfaces(contacts[first], a, b, geometry)
    for k in range(first + 1, last):
        set_surface(contacts[k], contacts[first])


@kernel
def combine_surfaces(contact, a, b, geometry):
    """Set the coefficients of one contact of two geoms."""
    rule = geometry.combine
    if a.priority != b.priority:
        set_surface(contact, a if a.priority > b.priority else b)
    else:
        contact.friction = combined(rule[0], a.friction, b.friction)
        contact.kinetic_friction = combined(rule[0], a.kinetic_friction, b.kinetic_friction)
        contact.stribeck_speed = max(a.stribeck_speed, b.stribeck_speed)
        if min(a.stribeck_speed, b.stribeck_speed) > 0.0:
            contact.stribeck_speed = math.sqrt(a.stribeck_speed * b.stribeck_speed)
        contact.rolling, contact.torsional = max(a.rolling, b.rolling), max(a.torsional, b.torsional)
        contact.restitution = combined(rule[1], a.restitution, b.restitution)
    place = place_of_pair(geometry.own_pairs, a.body, b.body)
    if place >= 0:
        own = geometry.own_surfaces[place]
        if own.has_friction:
            set_friction(contact, own)
        if own.has_restitution:
            contact.restitution = own.restitution


@kernel
def set_surface(contact, surface):
    """Set all coefficients of a contact."""
    set_friction(contact, surface)
    contact.restitution = surface.restitution


@kernel
def set_friction(contact, surface):
    """Set the coefficients of friction, rolling and spinning of a contact."""
    contact.friction, contact.kinetic_friction = surface.friction, surface.kinetic_friction
    contact.stribeck_speed = surface.stribeck_speed
    contact.rolling, contact.torsional = surface.rolling, surface.torsional
