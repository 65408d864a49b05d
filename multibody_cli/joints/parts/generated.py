"""Generated part: pose, S and dS/dt by code generated from formulas (`joints.joint_map`), called by its address.

The formulas are in the part's own frames; this module transforms them to world axes.  Plain coordinates: v = dq/dt.

Source: Si and Guenter 2011, (9), (12).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.joints.joint_map import FIRST_COLUMN, MAX_OUTPUTS, PER_COLUMN
from multibody_cli.joints.parts.crossing import Crossing, write_column
from multibody_cli.kernel import Floats, formula
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.symbolic.generated import call


class GeneratedBuffers(NamedTuple):
    """Input and output of generated code: the constants of all parts, and the results for one of them."""

    constants: Floats
    out: Annotated[Floats, MAX_OUTPUTS]


@formula
def vector(numbers, k):
    """Return three numbers from k on."""
    return Vec3(numbers[k], numbers[k + 1], numbers[k + 2])


@formula
def across(part, P, q, v, generated_buffers, columns):
    """Cross a generated part from the orientation P of its inner frame; write its columns of S."""
    out = generated_buffers.out
    call(part.address, q, part.iq, v, part.iv, generated_buffers.constants, part.first_constant, out)
    R = P @ Mat3(vector(out, 0), vector(out, 3), vector(out, 6))
    spin, slip, bias_w, bias_v = ZERO, ZERO, ZERO, ZERO
    for j in range(part.width):
        k, rate = FIRST_COLUMN + PER_COLUMN * j, v[part.iv + j]
        angular, linear = R @ vector(out, k), R @ vector(out, k + 3)
        write_column(columns[part.iv + j], angular, linear)
        spin = spin + rate * angular
        slip = slip + rate * linear
        bias_w = bias_w + rate * vector(out, k + 6)
        bias_v = bias_v + rate * vector(out, k + 9)
    return Crossing(R, P @ vector(out, 9), Motion(spin, slip), Motion(R @ bias_w, R @ bias_v))


@formula
def add_subspace_change(part, R, generated_buffers, rates):
    """Add the derivative of S in the outer frame R to the rates of its columns, right after `across`."""
    for j in range(part.width):
        rate, k = rates[part.iv + j], FIRST_COLUMN + PER_COLUMN * j
        store(rate.angular_rate, load(rate.angular_rate) + R @ vector(generated_buffers.out, k + 6))
        store(rate.linear_rate, load(rate.linear_rate) + R @ vector(generated_buffers.out, k + 9))
