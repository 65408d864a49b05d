"""The catalogue of the curves of muscles.

To add a model: a module with its Spec (`forces.muscle_models.contract`), and its line in `_SPECS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

from pydantic.functional_validators import BeforeValidator

from multibody_cli.forces.muscle_models.contract import CurvesSpec
from multibody_cli.registry import Registry
from multibody_cli.spec import Catalogue, Spec

_SPECS = {
    "cubic": "cubic.CubicSpec",
    "thelen2003": "thelen2003.Thelen2003Spec",
    "millard2012": "millard2012.Millard2012Spec",
    "degroote2016": "degroote2016.DeGroote2016Spec",
}
"""Module and Spec of each model."""


def _spec(name: str) -> type[Spec]:
    module, _, spec = _SPECS[name].partition(".")
    found: type[Spec] = getattr(import_module(f"{__name__}.{module}"), spec)
    return found


MUSCLE_MODELS = Registry(_SPECS, _spec)
"""The curves of muscles by their word in the scene file."""


def _with_type(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Curves = Annotated[CurvesSpec, Catalogue("curves of a muscle", MUSCLE_MODELS), BeforeValidator(_with_type)]
"""Curves in a scene file: the name of a model, or a mapping with its `type` and parameters."""
