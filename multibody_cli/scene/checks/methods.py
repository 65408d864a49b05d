"""Method, integrator and their options: words of the catalogues."""

from __future__ import annotations

from pydantic import ValidationError

from multibody_cli.errors import nearest
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.checks.draft import Draft


def check_methods(draft: Draft) -> None:
    """Check that the method and the integrator exist, and the options that the method is given."""
    if "simulation" in draft.broken:
        return
    settings = draft.scene.simulation
    if settings.integrator not in INTEGRATORS:
        message = f"there is no integrator `{settings.integrator}`: {nearest(settings.integrator, INTEGRATORS)}"
        draft.tell(("simulation", "integrator"), message)
    if settings.method not in METHODS:
        message = f"there is no method `{settings.method}`: {nearest(settings.method, METHODS)}"
        draft.tell(("simulation", "method"), message)
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
