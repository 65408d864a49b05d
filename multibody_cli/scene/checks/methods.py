"""Checks of the method, the integrator and the options: the names exist, and the options are valid."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from multibody_cli.errors import nearest
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.explain import explain


def check_methods(draft: Draft) -> None:
    """Check that the method and the integrator exist, and that the options are valid."""
    if "simulation" in draft.broken:
        return
    settings = draft.scene.simulation
    if settings.integrator in METHODS:
        word = settings.integrator
        draft.report(("simulation", "integrator"), f"`{word}` is a method: use `simulation.method: {word}`")
    else:
        _require_known(draft, "integrator", settings.integrator, INTEGRATORS)
    _require_known(draft, "method", settings.method, METHODS)
    if settings.method not in METHODS:
        return
    options = METHODS[settings.method].Options
    for name in settings.options.keys() - options.model_fields.keys():
        able = " and ".join(f"`{other}`" for other, kind in METHODS.items() if name in kind.Options.model_fields)
        remark = f"it is an option of {able}" if able else nearest(name, options.model_fields)
        draft.report(("simulation", "options", name), f"method `{settings.method}` has no option `{name}`: {remark}")
    known = {name: value for name, value in settings.options.items() if name in options.model_fields}
    try:
        options.model_validate(known)
    except ValidationError as error:
        for path, message in explain(error, options):
            draft.report(("simulation", "options", *path), message)


def _require_known(draft: Draft, key: str, word: str, valid: Collection[str]) -> None:
    if word not in valid:
        draft.report(("simulation", key), f"unknown {key} `{word}`: {nearest(word, valid)}")
