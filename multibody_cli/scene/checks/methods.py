"""Method, integrator and their options: words of the catalogues."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from multibody_cli.errors import nearest
from multibody_cli.methods import METHODS, METHODS_LATER
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft


def check_methods(draft: Draft) -> None:
    """Check that the method and the integrator exist, and the options that the method is given."""
    if "simulation" in draft.broken:
        return
    settings = draft.scene.simulation
    _require_known(draft, "integrator", settings.integrator, INTEGRATORS)
    _require_known(draft, "method", settings.method, METHODS, METHODS_LATER)
    if settings.method not in METHODS:
        return
    options = METHODS[settings.method].Options
    for name in settings.options.keys() - options.model_fields.keys():
        message = f"method `{settings.method}` has no option `{name}`: {nearest(name, options.model_fields)}"
        draft.tell(("simulation", "options", name), message)
    known = {name: value for name, value in settings.options.items() if name in options.model_fields}
    try:
        options.model_validate(known)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            draft.tell(("simulation", "options", *one["loc"]), one["msg"])


def _require_known(draft: Draft, key: str, word: str, valid: Collection[str], later: Collection[str] = ()) -> None:
    if word in later:
        draft.tell(("simulation", key), f"the {key} `{word}` is not yet supported; valid: {', '.join(sorted(valid))}")
    elif word not in valid:
        draft.tell(("simulation", key), f"there is no {key} `{word}`: {nearest(word, valid)}")
