"""Templates: bindings, refusals, and that every template of the package declares its parameters."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

import numpy as np
import pytest

import multibody_cli
from multibody_cli.kernel import (
    Template,
    bound_kernel,
    formula,
    interpreted,
    kernel,
    kernel_parameter,
    number_parameter,
    optional_kernel_parameter,
    template,
)
from multibody_cli.kernel.reach import reach_of


@kernel_parameter
def slope(t: float, y: float) -> float:
    """dy/dt at (t, y)."""


@kernel_parameter
def store(y: float, out: np.ndarray) -> None:
    """Store a value."""


@optional_kernel_parameter
def damp(y: float) -> float:
    """The damped value; the same one without damping."""
    return y


STAGES = number_parameter("STAGES", int)


@template(slope)
def take_step(t, y, h) -> float:
    return y + h * slope(t, y)


@template(slope, store, STAGES)
def take_steps(y, h, out):
    for stage in range(STAGES):
        y = take_step(stage * h, y, h)
    store(y, out)


@template(damp)
def double(y, out):
    out[0] = 2.0 * damp(y)


@formula
def halve(y):
    return 0.5 * y


@formula
def growth(t, y):
    return y


@formula
def decay(t, y):
    return -y


@kernel
def store_first(y, out):
    out[0] = y


@kernel
def returning(y, out):
    out[0] = y
    return y


def modules():
    for found in pkgutil.walk_packages(multibody_cli.__path__, "multibody_cli."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


TEMPLATES = {one for module in modules() for one in vars(module).values() if isinstance(one, Template)}


@pytest.mark.parametrize("one", sorted(TEMPLATES, key=lambda one: one.full_name), ids=lambda one: one.__name__)
def test_a_template_declares_what_occurs_in_it(one):
    one.check()


def test_a_bound_kernel_computes_with_its_values():
    """Euler's method: y' = y grows to (1 + h)^n, and y' = -y decays to (1 - h)^n."""
    for given, factor in ((growth, 1.5), (decay, 0.5)):
        out = np.zeros(1)
        with interpreted():
            bound_kernel(take_steps, slope=given, store=store_first, STAGES=3)(2.0, 0.5, out)
        assert out[0] == 2.0 * factor**3


@pytest.mark.compiled
def test_compiled_code_has_the_values_too():
    out = np.zeros(1)
    bound_kernel(take_steps, slope=decay, store=store_first, STAGES=2)(1.0, 0.5, out)
    assert out[0] == 0.25


@pytest.mark.parametrize(("given", "result"), [({}, 6.0), ({"damp": None}, 6.0), ({"damp": halve}, 3.0)])
def test_an_optional_parameter_is_its_declaration_where_it_is_left_out(given, result):
    out, bound = np.zeros(1), bound_kernel(double, **given)
    with interpreted():
        bound(3.0, out)
    assert out[0] == result
    assert pickle.loads(pickle.dumps(bound)) is bound


@pytest.mark.compiled
def test_compiled_code_has_the_declaration_of_a_parameter_that_is_left_out():
    out = np.zeros(1)
    bound_kernel(double)(3.0, out)
    assert out[0] == 6.0
    assert bound_kernel(double).reach.digest != bound_kernel(double, damp=halve).reach.digest


def test_a_bound_kernel_keeps_the_declared_result():
    assert bound_kernel(take_step, slope=growth).declared_result is float


def test_the_same_values_make_the_same_kernel():
    bound = bound_kernel(take_steps, slope=growth, store=store_first, STAGES=2)
    assert bound_kernel(take_steps, STAGES=2, store=store_first, slope=growth) is bound
    assert pickle.loads(pickle.dumps(bound)) is bound


def test_the_digest_covers_all_values():
    values = {"slope": growth, "store": store_first, "STAGES": 2}
    changes = [{}, {"slope": decay}, {"STAGES": 3}]
    assert len({bound_kernel(take_steps, **values | change).reach.digest for change in changes}) == 3


VALUES = {"slope": growth, "store": store_first, "STAGES": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage": 2}, "take_steps has no template parameter `stage`"),
        ({"take_step": growth}, "take_steps has no template parameter `take_step`"),
        ({"STAGES": True}, "take_steps: `STAGES`: expected a number of type int, not True"),
        ({"STAGES": 2.0}, "take_steps: `STAGES`: expected a number of type int, not 2.0"),
        ({"STAGES": growth}, "take_steps: `STAGES`: expected a number of type int, not <formula .*growth>"),
        ({"slope": 2.0}, "take_steps: `slope`: expected a kernel or a formula, not 2.0"),
        ({"slope": take_step}, "take_steps: `slope`: expected a kernel or a formula, not <.*Template"),
        ({"slope": np.hypot}, "take_steps: `slope`: expected a kernel or a formula, not <ufunc"),
        ({"slope": bound_kernel(take_step, slope=growth)}, r"take_step takes \(t, y, h\), expected \(t, y\)"),
        ({"slope": store_first}, "store_first returns nothing, expected float"),
        ({"store": returning}, "returning returns a value, expected None"),
    ],
)
def test_values_that_do_not_fit_are_refused(change, message):
    with pytest.raises(TypeError, match=message):
        bound_kernel(take_steps, **VALUES | change)


@pytest.mark.parametrize("name", VALUES)
def test_every_parameter_must_be_bound(name):
    """Those of called templates too: `slope` occurs in `take_step` alone."""
    values = {word: value for word, value in VALUES.items() if word != name}
    with pytest.raises(TypeError, match=f"take_steps: its template parameter `{name}` is not bound"):
        bound_kernel(take_steps, **values)


def test_declarations_are_checked():
    @template(slope, store)
    def too_many(t, y):
        return slope(t, y) + y.store  # an attribute of the same name

    @template(slope)
    def too_few(y, h, out):
        store(take_step(0.0, y, h), out)

    with pytest.raises(TypeError, match="too_many declares the parameter `store`, which does not occur in it"):
        bound_kernel(too_many, slope=growth, store=store_first)
    with pytest.raises(TypeError, match="too_few does not declare its parameter `store`"):
        bound_kernel(too_few, slope=growth)


def test_a_kernel_that_reads_a_parameter_is_refused():
    @kernel
    def reading(t, y):
        return slope(t, y)

    with pytest.raises(TypeError, match="reads slope, a Parameter"):
        reach_of(reading)
