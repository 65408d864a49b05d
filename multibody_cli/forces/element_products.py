"""Kernels over all force elements for K = dF/dx and D = dF/dv: products and diagonal blocks (`forces.variation`)."""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.contract import add_stiffness_blocks as add_stiffness_blocks_of
from multibody_cli.forces.contract import linearize, stiffness_damping_product
from multibody_cli.forces.elements import ELEMENTS, PLACE, over
from multibody_cli.kernel import kernel, lazy_template, number_parameter

IMPLICIT = number_parameter("IMPLICIT", bool)
"""Whether implicit integrators evaluate an element at the end of the step."""


@lazy_template(linearize, PLACE)
def _linearize_each(forces, t, bodies):
    table = forces.tables[PLACE]
    for k in range(len(table)):
        linearize(table[k], forces, t, bodies)


@lazy_template(stiffness_damping_product, PLACE, IMPLICIT)
def _add_each_product(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    table = forces.tables[PLACE]
    for k in range(len(table) if IMPLICIT or exact else 0):
        stiffness_damping_product(table[k], forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)


@lazy_template(add_stiffness_blocks_of, PLACE)
def _add_each_block(forces, t, bodies, displacement_factor, velocity_factor, blocks):
    table = forces.tables[PLACE]
    for k in range(len(table)):
        add_stiffness_blocks_of(table[k], forces, t, bodies, displacement_factor, velocity_factor, blocks)


def _products(elements: Any) -> Any:
    return over("stiffness_damping_product", _add_each_product, elements, IMPLICIT=lambda element: element.implicit)


_SPRINGS = [element for element in ELEMENTS if element.implicit and element.acts_on_bodies and element.elastic_energy]
_linearize_all: Any = over("linearize", _linearize_each)
_add_all_products, _add_products_of_springs = _products(ELEMENTS), _products(_SPRINGS)
_add_all_blocks: Any = over("add_stiffness_blocks", _add_each_block)


@kernel
def linearize_forces(forces, t, bodies):
    """Prepare products and blocks for the present positions and velocities."""
    _linearize_all(forces.tables, forces, t, bodies)


@kernel
def add_stiffness_damping_products(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add the products of all elements to the wrenches: see `forces.variation`."""
    _add_all_products(forces.tables, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)


@kernel
def add_spring_products(forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """`add_stiffness_damping_products` of the elements on bodies that store energy."""
    _add_products_of_springs(forces.tables, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches)


@kernel
def add_stiffness_blocks(forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks of all elements: see `forces.variation`."""
    _add_all_blocks(forces.tables, forces, t, bodies, displacement_factor, velocity_factor, blocks)
