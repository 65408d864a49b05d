"""Options of variational methods that are incompatible with contacts or limits are refused before the run."""

from __future__ import annotations

import pytest
from loops import loaded

from multibody_cli.errors import SceneError

BALL = {"bodies": {"ball": {"mass": 1, "shapes": [{"type": "sphere", "radius": 1}], "position": [0, 0, 2]}}}
TOUCHING = {**BALL, "world": {"shapes": [{"type": "plane"}]}, "contacts": {}}
HINGE = {"type": "revolute", "child": "ball", "limits": [-1, 1]}


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 2}, "order: impulses of contacts act at the start of a step"),
        ({"adaptive": True}, "adaptive: a step with contacts cannot be subdivided"),
        ({"initial_guess": "ig3"}, "initial_guess: has no effect with contacts"),
    ],
)
def test_options_incompatible_with_contacts_are_named(method: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SceneError, match=f"simulation.options.{message}"):
        loaded(TOUCHING, method=method, options=options)
    loaded(BALL, method=method, options=options)


def test_all_options_incompatible_with_contacts_are_reported_together() -> None:
    options = {"order": 4, "adaptive": True, "initial_guess": "ig1"}
    with pytest.raises(SceneError) as refusal:
        loaded(TOUCHING, method="variational", options=options)
    for option in options:
        assert f"simulation.options.{option}: " in str(refusal.value)


@pytest.mark.parametrize(
    ("method", "integrator", "message"),
    [
        ("aba", "dop853", None),
        ("aba", "rk4", "has no effect: `rk4` has a fixed step size"),
        ("variational", "dop853", "method `variational` uses `simulation.options.tolerance`"),
    ],
)
def test_a_tolerance_without_effect_is_reported(method: str, integrator: str, message: str | None) -> None:
    warnings = loaded(BALL, method=method, integrator=integrator, tolerance=1e-6).warnings
    about = [warning for warning in warnings if "simulation.tolerance: " in warning]
    assert len(about) == (message is not None)
    assert message is None or message in about[0]


@pytest.mark.parametrize(
    ("method", "option", "value", "message"),
    [
        ("variational", "order", 3, "expected 1, 2, 4 or 6, found `3`"),
        ("variational", "tolerance", 0, "expected a plain number above 0"),
        ("variational", "max_iterations", 2.5, "expected a whole number, found `2.5`"),
        ("variational", "max_iterations", 0, "expected at least 1, found `0`"),
        ("variational_maximal", "root_finder", "broyden", "expected `newton` or `riqn`, found `broyden`"),
        ("variational_maximal", "evaluation", "svi", "it is an option of `variational`"),
        ("aba", "initial_guess", "ig1", "it is an option of `variational` and `variational_maximal`"),
        ("variational", "ordr", 1, "did you mean `order`?"),
    ],
)
def test_invalid_options_are_refused_with_a_message(method: str, option: str, value: object, message: str) -> None:
    with pytest.raises(SceneError) as refusal:
        loaded(BALL, method=method, options={option: value})
    assert f"simulation.options.{option}: " in str(refusal.value)
    assert message in str(refusal.value)


def test_limits_forbid_composed_steps() -> None:
    with pytest.raises(SceneError, match="order: orders 4 and 6 are composed"):
        loaded({**BALL, "joints": {"hinge": HINGE}}, method="variational", options={"order": 4})
