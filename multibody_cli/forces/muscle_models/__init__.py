"""The catalogue of the curves of muscles.

To add a model: a module with its Spec (`forces.muscle_models.contract`), and its line in `_SPECS`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic.functional_validators import BeforeValidator

from multibody_cli.forces.muscle_models.contract import CurvesSpec
from multibody_cli.registry import Registry
from multibody_cli.spec import Catalogue

_SPECS = {
    "cubic": "cubic.CubicSpec",
    "thelen2003": "thelen2003.Thelen2003Spec",
    "millard2012": "millard2012.Millard2012Spec",
    "degroote2016": "degroote2016.DeGroote2016Spec",
}
"""Module and Spec of each model."""

MUSCLE_MODELS: Registry[type[CurvesSpec]] = Registry.of_modules(__name__, _SPECS)
"""The curves of muscles by their word in the scene file."""


def _with_type(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Curves = Annotated[CurvesSpec, Catalogue("curves of a muscle", MUSCLE_MODELS), BeforeValidator(_with_type)]
"""Curves in a scene file: the name of a model, or a mapping with its `type` and parameters."""
