"""Coefficients of friction of a step: the law of Stribeck at the slip speeds before the step.

    mu(v) = mu_kinetic + (mu_static - mu_kinetic) exp(-(v / v_S)^2)

Contacts and friction patches of joints share this law.  A contact that sticks has no slip, and the static coefficient.
In a step each coefficient is a number, so that the law of friction, its solutions and its energy are those of Coulomb's
law.  With the slip speed after the step in place of that before, a step longer than v_S / (mu_static - mu_kinetic) over
the acceleration of the weight could have several solutions.

Source: Bo and Pavelescu, The friction-speed relation and its influence on the critical velocity of stick-slip motion,
Wear 82 (1982).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.tree_friction_workspace import STICKS
from multibody_cli.kernel import kernel


@kernel
def coefficient_at(static, kinetic, stribeck_speed, along, across) -> float:
    """Return the coefficient of friction at a slip, m/s; it is `static` bit by bit where both are the same."""
    if kinetic == static:
        return static
    ratio = math.hypot(along, across) / stribeck_speed
    return static + (static - kinetic) * math.expm1(-ratio * ratio)


@kernel
def set_coefficients(table, contacts, step, joint_friction, shared):
    """Set the coefficients of all contacts and patches, and the limits of brakes.

    `shared` (p,) is that of passes over trees.
    """
    patches, brakes = table.patches, table.brakes
    before, k, coefficients = step.velocity_before, step.sizes[0].constraint_rows, joint_friction.coefficient
    for p in range(len(patches)):
        patch, along, across = patches[p], before[k + 1], before[k + 2]
        coefficient = coefficient_at(patch.static_friction, patch.kinetic_friction, patch.stribeck_speed, along, across)
        if coefficient != coefficients[p]:
            coefficients[p], shared[p] = coefficient, STICKS
        joint_friction.brake[p] = step.sizes[0].h * patch.brake
        k += PER_CONTACT
    for b in range(len(brakes)):
        joint_friction.previous_impulses[len(patches) + b, 0] = step.sizes[0].h * brakes[b].limit
    k = step.sizes[0].first_contact
    for c in range(step.sizes[0].contacts):
        contact, along, across = contacts[c], before[k + 1], before[k + 2]
        contact.friction = coefficient_at(
            contact.friction, contact.kinetic_friction, contact.stribeck_speed, along, across
        )
        k += PER_CONTACT
