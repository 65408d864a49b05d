"""Steps and output instants are whole numbers of steps apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_cli.errors import QuantityError
from multibody_cli.scene.simulation import OutputSpec, SimulationSpec
from multibody_cli.scene.timing import timing


def plan(duration, step, every=None):
    return timing(SimulationSpec(duration=duration, step=step), OutputSpec(every=every))


@pytest.mark.parametrize(
    ("duration", "step", "steps_per_output", "outputs"),
    [
        (10, 1e-3, 10, 1000),
        (0.5, 1e-3, 1, 500),
        (12.345, 1e-3, 15, 823),
        (2, 1e-3, 2, 1000),
        (0.3, 0.1, 1, 3),
    ],
)
def test_default(duration, step, steps_per_output, outputs):
    found = plan(duration, step)
    assert (found.steps_per_output, found.outputs) == (steps_per_output, outputs)


def test_default_of_a_prime_number_of_steps_is_every_step():
    assert plan(10007, 1).outputs == 10007


@given(steps=st.integers(1, 10**6), step=st.sampled_from([1e-4, 1e-3, 0.02, 1 / 3]))
def test_default_ends_with_the_run(steps, step):
    found = plan(steps * step, step)
    assert found.steps == steps
    assert found.outputs >= min(steps, 100)


def test_given():
    found = plan(10, "1 ms", "10 ms")
    assert (found.steps_per_output, found.outputs, found.steps) == (10, 1000, 10000)
    assert found.index_of(2.5) == 250
    assert found.every == pytest.approx(0.01)


@pytest.mark.parametrize("time", [-0.01, 10.01, 2.505])
def test_instants_that_are_not_written(time):
    with pytest.raises(QuantityError, match="the nearest to"):
        plan(10, 1e-3, 1e-2).index_of(time)


@pytest.mark.parametrize(
    ("duration", "step", "every", "message"),
    [
        (1, 3e-3, None, "nearest: 0.999 s or 1.002 s"),
        (1, 1e-3, 2.5e-3, "nearest: 0.002 s or 0.003 s"),
        (1, 1e-3, 0.3, "a divisor of the duration, 1 s, found 0.3 s; nearest: 0.25 s or 0.5 s"),
        (1, 1e-3, 3, "nearest: 1 s"),
        (1, 2, None, "nearest: 2 s"),
        (1e300, 1e-300, None, "of .* to `step` is too large"),
    ],
)
def test_refusals(duration, step, every, message):
    with pytest.raises(QuantityError, match=message):
        plan(duration, step, every)
