"""Kernels over all force elements for K = dF/dx and D = dF/dv: products and diagonal blocks (`forces.variation`)."""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.contract import add_stiffness_blocks as add_stiffness_blocks_of
from multibody_cli.forces.contract import linearize, stiffness_damping_product
from multibody_cli.forces.elements import ELEMENTS, PLACE, before, over
from multibody_cli.kernel import kernel, number_parameter, template

IMPLICIT = number_parameter("IMPLICIT", bool)
"""Whether implicit integrators evaluate an element at the end of the step."""


@template(before, linearize, PLACE)
def _linearize_one_more(forces, t, bodies):
    before(forces, t, bodies)
    table = forces.tables[PLACE]
    for k in range(len(table)):
        linearize(table[k], forces, t, bodies)


@kernel
def _linearize_none(forces, t, bodies):
    """Keep nothing."""


@template(before, stiffness_damping_product, PLACE, IMPLICIT)
def _add_one_more_product(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    before(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)
    table = forces.tables[PLACE]
    for k in range(len(table) if IMPLICIT or exact else 0):
        stiffness_damping_product(table[k], forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)


@kernel
def _add_no_product(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add nothing."""


@template(before, add_stiffness_blocks_of, PLACE)
def _add_one_more_block(forces, t, bodies, displacement_factor, velocity_factor, blocks):
    before(forces, t, bodies, displacement_factor, velocity_factor, blocks)
    table = forces.tables[PLACE]
    for k in range(len(table)):
        add_stiffness_blocks_of(table[k], forces, t, bodies, displacement_factor, velocity_factor, blocks)


@kernel
def _add_no_block(forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add nothing."""


linearize_forces: Any = over("linearize", _linearize_one_more, _linearize_none)
"""`linearize_forces(forces, t, bodies)`: prepare products and blocks for the present positions and velocities."""

add_stiffness_damping_products: Any = over(
    "stiffness_damping_product", _add_one_more_product, _add_no_product, IMPLICIT=lambda element: element.implicit
)
"""`add_stiffness_damping_products(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)`."""

add_spring_products: Any = over(
    "stiffness_damping_product",
    _add_one_more_product,
    _add_no_product,
    [element for element in ELEMENTS if element.implicit and element.acts_on_bodies and element.elastic_energy],
    IMPLICIT=lambda element: element.implicit,
)
"""`add_stiffness_damping_products` of the elements on bodies that store energy."""

add_stiffness_blocks: Any = over("add_stiffness_blocks", _add_one_more_block, _add_no_block)
"""`add_stiffness_blocks(forces, t, bodies, displacement_factor, velocity_factor, blocks)`: see `forces.variation`."""
