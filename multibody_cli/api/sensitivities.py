"""Sensitivities of a run: derivatives of its channels with respect to parameters and initial states.

A run with fixed steps is a smooth function of its parameters, computed to round-off, so that central differences of
sixth order are accurate to about 1e-11 with a relative offset of 1e-3.  The difference from those of fourth order is a
bound of their error.  Seven runs for one parameter, six for each further one.

Source: Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, Math. Comp. 51 (1988), table 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.api.scene import Overrides, load, override_texts
from multibody_cli.errors import ArgumentError
from multibody_cli.spec.units import split_quantity
from multibody_cli.studies.fit import Parameter

if TYPE_CHECKING:
    import xarray

OFFSET = 1e-3
"""Offset of a parameter relative to its size, 1 for zero."""

SIXTH, FOURTH = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0), (2.0 / 3.0, -1.0 / 12.0, 0.0)
"""Weights of the central differences over two, four and six offsets."""


def sensitivities(
    source: str | PathLike[str],
    parameters: Mapping[str, float | str],
    channels: Sequence[str] = ("joints/*/q", "joints/*/v"),
    overrides: Overrides = (),
) -> xarray.Dataset:
    """Compute the derivatives of the channels of a run with respect to parameters.

    Parameters
    ----------
    source, overrides
        As for `load`.
    parameters
        Keys of the scene, such as `vars.k` or `joints.hinge.q`, with the values at which to differentiate: a number, or
        a text with a unit.  The derivative is with respect to the number.
    channels
        Channels to differentiate, as in `Scene.run`; channels of contacts and counts are excluded.

    Returns
    -------
    xarray.Dataset
        For each channel its derivatives, with a last dimension `parameter`, and `error/<channel>`, a bound of their
        error.  It is large where the run is not a smooth function of a parameter, as at an impact.

    Raises
    ------
    SceneError
        A parameter has no place in the scene, or a value near that of the parameter is invalid.
    UnsuccessfulRun
        A run failed.
    """
    varied = [_parameter(key, value) for key, value in parameters.items()]
    if not varied:
        raise ArgumentError("expected a parameter")
    fixed = [*override_texts(overrides), *(one.override(one.start) for one in varied)]
    base = _run(source, fixed, channels)
    smooth = [str(path) for path in base if base[path].dims[0] == "time" and base[path].dtype.kind == "f"]
    derivatives: dict[str, list[Any]] = {path: [] for path in smooth}
    errors: dict[str, list[Any]] = {path: [] for path in smooth}
    for one in varied:
        offset = OFFSET * one.scale
        pairs = [
            [_run(source, [*fixed, one.override(one.start + sign * k * offset)], channels) for sign in (1, -1)]
            for k in (1, 2, 3)
        ]
        for path in smooth:
            changes = [(above[path].values - below[path].values) / offset for above, below in pairs]
            sixth, fourth = (sum(w * change for w, change in zip(row, changes, strict=True)) for row in (SIXTH, FOURTH))
            derivatives[path].append(sixth)
            errors[path].append(np.abs(sixth - fourth))
    return _dataset(base, varied, derivatives, errors)


def _parameter(key: str, value: float | str) -> Parameter:
    found = split_quantity(value) if isinstance(value, str) else (float(value), "")
    if found is None:
        raise ArgumentError(f"`{key}`: expected a number with or without a unit, found `{value}`")
    return Parameter(key, *found)


def _run(source: str | PathLike[str], overrides: Sequence[str], channels: Sequence[str]) -> xarray.Dataset:
    """Run the scene; its expectations do not hold for other parameters."""
    import warnings

    from multibody_cli.api.scene import SceneWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        scene = load(source, [*overrides, "expect=[]"])
        return scene.run(channels=channels)


def _dataset(
    base: xarray.Dataset,
    parameters: Sequence[Parameter],
    derivatives: Mapping[str, Sequence[Any]],
    errors: Mapping[str, Sequence[Any]],
) -> xarray.Dataset:
    """Return derivatives and bounds with the dimensions of their channels and of the parameters."""
    import xarray

    variables = {}
    for name, table in (("{}", derivatives), ("error/{}", errors)):
        for path, values in table.items():
            dimensions = (*base[path].dims, "parameter")
            units = "; ".join(f"({base[path].attrs['units']}) per {one.unit or 'unit'}" for one in parameters)
            variables[name.format(path)] = xarray.Variable(dimensions, np.stack(values, axis=-1), {"units": units})
    coordinates = {name: base.coords[name] for name in base.coords}
    return xarray.Dataset(variables, {**coordinates, "parameter": [one.key for one in parameters]})
