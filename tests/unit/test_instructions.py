"""Generated source as instructions: every supported statement agrees with Python, and others are refused."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from generated import NAMES

from multibody_cli.kernel import LANES, KernelError, is_interpreted
from multibody_cli.symbolic.generated import address_of

pytestmark = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")

SENTENCES = {
    "arithmetic": ["b[0] = a[0] * a[1] - (a[2] + 2.5) / a[3]", "b[1] = -a[0] - -a[1]", "b[2] = 1.0"],
    "whole numbers": ["b[k[0]] = k[1] * k[2] - k[0] + 0.5", "b[k[0] + 2] = k[1] / k[2]", "b[0] = -k[1]"],
    "a whole number where a number stands": ["x = 0.5", "x += k[1]", "x = k[2]", "b[0] = x", "b[1] = 2 * a[0]"],
    "names given again": ["x = a[0]", "b[0] = x", "x = x * a[1]", "b[1] = x", "x -= a[2]", "b[2] = x"],
    "several at once": ["x, y = a[0], a[1]", "x, y = y, x", "b[0] = x", "b[1] = y", "b[2], b[3] = a[2], a[3]"],
    "functions": [
        "s, c = sine_and_cosine(a[0])", "b[0] = s", "b[1] = c", "b[2] = atan2(a[1], a[2]) + pow(a[0], a[3])",
        "b[3] = exp(a[0]) + log(a[1]) + sqrt(a[2]) + tanh(a[3]) + asin(0.1 * a[0])",
    ],
    "a function of many values": [
        "p, q, r, s = exponential_coefficients(a[0])", "b[0] = p", "b[1] = q", "b[2] = r", "b[3] = s",
    ],
    "choosing": ["b[0] = min(max(floor(10.0 * a[0]), 0.0), 3.0)", "b[1] = max(-a[0], k[1])",
                 "b[k[0]] = min(a[1], a[2])"],
    "conversion": ["at = 1 + 2 * int(a[3])", "b[at - 1] = at"],
    "a loop": ["for _ in range(k[1]):", "    b[0] += a[0]", "    b[1] = 2.0 * b[1] + 1.0"],
    "loops with steps": [
        "x = 0.0", "for i in range(6, -1, -3):", "    x = 10.0 * x + i", "b[0] = x",
        "for i in range(0, 4, 2):", "    for j in range(1, k[1]):", "        b[i] += j",
        "for i in range(3, 3):", "    b[1] = 9.0",
    ],
    "branches": [
        "for r in range(4):", "    if r == 0:", "        w = a[0]", "        b[r] = w",
        "    elif r == k[1]:", "        w = a[1]", "        b[r] = w", "    else:", "        pass",
        "if k[0] == 1:", "    b[1] = 7.0",
    ],
}  # fmt: skip


def run(function, a, k):
    b = np.zeros(6)
    function(a, k, b)
    return b


def compiled(text):
    address = address_of("a test", text, "fif")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
    return lambda *arrays: entry(*(array.ctypes.data for array in arrays))


def function_of(lines):
    return 'def generated(a, k, b):\n    """A kernel."""\n' + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("name", SENTENCES)
def test_instructions_agree_with_python(name):
    text, names = function_of(SENTENCES[name]), dict(NAMES)
    exec(text, names)
    rng, k = np.random.default_rng(4), np.array([1, 3, 2])
    instructions = compiled(text)
    for _ in range(5):
        a = rng.uniform(0.3, 1.7, 4)
        expected = run(names["generated"], a, k)
        assert expected.any()
        np.testing.assert_allclose(run(instructions, a, k), expected, rtol=4e-15, atol=0.0)


def test_nan_propagates():
    """As in kernels, a division by zero is no error."""
    instructions = compiled(function_of(["b[0] = a[0] / a[1]", "b[1] = a[1] / a[1]", "b[2] = sqrt(-a[0])"]))
    b = run(instructions, np.array([1.0, 0.0]), np.zeros(1, np.int64))
    assert b[0] == math.inf
    assert np.isnan(b[1:3]).all()


@pytest.mark.parametrize(
    "line",
    ["while a[0]:", "if a[0] < 1.0:", "b[0] = a[0] ** 2", "b[0] = k[0] // 2", "b[0] = a[0] if k[0] else 1.0",
     "print(a[0])", "for x in a:", "b[0] = +a[0]", "b[0] = math.sin(a[0])", "del a", "b[:] = 0.0"],
)  # fmt: skip
def test_other_statements_are_refused(line):
    lines = [line, "    pass"] if line.endswith(":") else [line]
    with pytest.raises(KernelError, match="unsupported syntax in generated source"):
        address_of("a test", function_of(lines), "fif")


# --- vectors ------------------------------------------------------------------------------------------------------
def of_vectors(text):
    address = address_of("a test", text, "vivf")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    return lambda *arrays: entry(*(array.ctypes.data for array in arrays))


@pytest.mark.parametrize("name", sorted(SENTENCES.keys() - {"conversion"}))  # an index is one number
def test_each_lane_of_vectors_agrees_with_numbers(name):
    lines, rng, k = SENTENCES[name], np.random.default_rng(4), np.array([1, 3, 2])
    numbers = compiled(function_of(lines))
    vectors = of_vectors(function_of([*lines, "b[5] = a[0] * shared[0]"]).replace("(a, k, b)", "(a, k, b, shared)"))
    a, b, c = rng.uniform(0.3, 1.7, (4, LANES)), np.zeros((6, LANES)), np.array([2.5])
    vectors(a, k, b, c)
    for lane in range(LANES):
        np.testing.assert_allclose(b[:5, lane], run(numbers, a[:, lane].copy(), k)[:5], rtol=4e-15, atol=0.0)
    np.testing.assert_array_equal(b[5], 2.5 * a[0])


def test_sine_and_cosine_of_vectors_in_the_whole_range():
    """Within an ulp or two up to the bound of the reduction, and those of the library beyond it."""
    lines = ["s, c = sine_and_cosine(a[0])", "b[0] = s", "b[1] = c", "b[2] = sin(a[0])", "b[3] = cos(a[0])"]
    vectors = of_vectors(function_of(lines).replace("(a, k, b)", "(a, k, b, shared)"))
    rng, empty = np.random.default_rng(4), np.zeros(1)
    scale = 10.0 ** rng.uniform(-10.0, 7.0, (500, LANES))
    for x in rng.choice([-1.0, 1.0], scale.shape) * scale:
        b = np.zeros((4, LANES))
        vectors(x, empty, b, empty)
        for found, exact in zip(b, (np.sin(x), np.cos(x)) * 2, strict=True):
            np.testing.assert_allclose(found, exact, rtol=0.0, atol=3e-16)
    special = np.array([0.0, -0.0, math.inf, math.nan, 1e300, 1e5, -1e5, math.pi])
    b = np.zeros((4, LANES))
    vectors(special, empty, b, empty)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(b[0], np.sin(special), atol=3e-16)


# --- dual numbers -----------------------------------------------------------------------------------------------------
DUALS = [
    "x = a[0] * a[1] - (a[2] + 2.5) / a[3]",
    "s, c = sine_and_cosine(x)",
    "y, z = 3.0 - s / 2.0, -c * k[1]",
    "for i in range(k[2]):",
    "    y = y * a[i] + 0.3",
    "b[0] = y + z",
    "b[1] = exp(a[0]) * log(a[1]) + sqrt(a[2]) / tanh(a[3]) - 2",
    "b[2] = asin(0.3 * a[0]) + acos(0.3 * a[1]) + atan(a[2]) + atan2(a[3], a[0]) + tan(0.5 * a[1])",
    "b[3] = pow(a[0], a[1]) + pow(a[2], 2.5) + sinh(a[0]) * cosh(a[1]) + floor(3.0 * a[2])",
    "c1, h = half_angle_coefficients(a[0])",
    "c2, h2 = half_angle_coefficients(0.001 * a[0])",
    "b[4] = c1 + 2.0 * h + c2 * h2 + inverse_jacobian_coefficient(a[1]) + inverse_jacobian_coefficient(0.001 * a[2])",
    "e = logarithm_coefficient(a[0], a[1]) + logarithm_coefficient(a[2], 0.001 * a[3])",
    "b[5] = min(max(e, a[0]), 100.0) + sin(a[0]) * cos(a[1])",
]


def test_dual_numbers_carry_exact_derivatives():
    """Against differences of sixth order of the same code with numbers, whose values are equal to round-off."""
    text = function_of(DUALS)
    plain = compiled(text)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address_of("a test", text, "did"))
    rng, k, offset = np.random.default_rng(4), np.array([1, 3, 2]), 1e-3
    for _ in range(5):
        a, b = np.zeros((4, 1 + LANES)), np.zeros((6, 1 + LANES))
        a[:] = rng.uniform(0.35, 1.25, (4, 1 + LANES))
        entry(*(array.ctypes.data for array in (a, k, b)))
        np.testing.assert_allclose(b[:, 0], run(plain, a[:, 0].copy(), k), rtol=4e-15, atol=0.0)
        for lane in range(1, 1 + LANES):
            expected = sum(
                weight * sign * run(plain, a[:, 0] + sign * step * offset * a[:, lane], k) / offset
                for step, weight in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
                for sign in (1, -1)
            )
            np.testing.assert_allclose(b[:, lane], expected, rtol=1e-9, atol=1e-10)


def test_functions_without_a_rule_for_dual_numbers_are_refused():
    text = function_of(["p, q, r, s = exponential_coefficients(a[0])", "b[0] = p"])
    with pytest.raises(KernelError, match="derivatives of `exponential_coefficients`"):
        address_of("a test", text, "did")
