"""Sensitivities of a run: derivatives of its channels with respect to parameters and initial states.

The time steps are differentiated by the generated code (`lanes.derivatives`), exactly to round-off.  Differences remain
where nothing is integrated: those of the packed constants and initial states with respect to a parameter, and those of
the channels of one instant with respect to its state and to the constants.

For other scenes, central differences of whole runs take their place.  A run with fixed steps is a smooth function of
its parameters, computed to round-off, so that differences of sixth order are accurate to about 1e-11 with a relative
offset of 1e-3, unless the run amplifies them.  The difference from those of fourth order is a bound of their error.

Source: Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, Math. Comp. 51 (1988), table 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.api.scene import Overrides, Scene, SceneWarning, load, override_texts
from multibody_cli.errors import ArgumentError
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.spec.units import split_quantity
from multibody_cli.studies.differentiation import OFFSET, SHIFTS, Channels, Slopes, differences, differentiate
from multibody_cli.studies.fit import FreeParameter

if TYPE_CHECKING:
    import xarray


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
        error.  It is large where the run is not a smooth function of a parameter, as at an impact.  The attribute
        `method` is `generated code`, or `differences of runs` with the reason.

    Raises
    ------
    ArgumentError
        The source is no path or text, or the parameters are no mapping.
    SceneError
        A parameter has no place in the scene, or a value near that of the parameter is invalid.
    UnsuccessfulRun
        A run failed.
    """
    if not isinstance(parameters, Mapping) or not parameters:
        raise ArgumentError(f'expected parameters with their values, as in {{"vars.k": 2.0}}, found {parameters!r}')
    if isinstance(source, Scene):
        raise ArgumentError(
            f"expected the path or the text of a scene, which is loaded with other values, found {source!r}"
        )
    varied = [_parameter(key, value) for key, value in parameters.items()]
    fixed = [*override_texts(overrides), *(one.override(one.start) for one in varied)]
    offsets = [OFFSET * one.scale for one in varied]
    scene = _load(source, fixed)
    with _quiet():
        base = scene.run(channels=channels)
    smooth = [str(path) for path in base if base[path].dims[0] == "time" and base[path].dtype.kind == "f"]
    neighbors = [
        [_load(source, [*fixed, one.override(one.start + shift * offset)]) for shift in SHIFTS]
        for one, offset in zip(varied, offsets, strict=True)
    ]
    try:
        prepared = [[one.prepared for one in own] for own in neighbors]
        found, method = differentiate(scene.prepared, prepared, offsets, smooth), "generated code"
    except Unsupported as reason:
        found = [_differences_of_runs(own, offset, smooth) for own, offset in zip(neighbors, offsets, strict=True)]
        method = f"differences of runs: {reason}"
    return _dataset(base, varied, found, smooth).assign_attrs(method=method)


def _parameter(key: str, value: float | str) -> FreeParameter:
    found = split_quantity(value) if isinstance(value, str) else (float(value), "")
    if found is None:
        raise ArgumentError(f"`{key}`: expected a number with or without a unit, found `{value}`")
    return FreeParameter(key, *found)


def _load(source: str | PathLike[str], overrides: Sequence[str]) -> Scene:
    """Load the scene without its expectations, which do not hold for other parameters."""
    with _quiet():
        return load(source, [*overrides, "expect=[]"])


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the warnings of scenes and runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SceneWarning)
        yield


def _differences_of_runs(scenes: Sequence[Scene], offset: float, channels: Sequence[str]) -> Slopes:
    """Differentiate channels by differences of the runs of scenes at the `SHIFTS` of an offset."""

    def values(shift: int) -> Channels:
        with _quiet():
            run = scenes[SHIFTS.index(shift)].run(channels=channels)
        return {path: run[path].values for path in channels}

    return differences(values, offset)


def _dataset(
    base: xarray.Dataset, parameters: Sequence[FreeParameter], slopes: Sequence[Slopes], paths: Sequence[str]
) -> xarray.Dataset:
    """Return derivatives and bounds with the dimensions of their channels and of the parameters."""
    import xarray

    variables = {}
    for name, tables in (("{}", [one.derivatives for one in slopes]), ("error/{}", [one.errors for one in slopes])):
        for path in paths:
            dimensions = (*base[path].dims, "parameter")
            units = "; ".join(f"({base[path].attrs['units']}) per {one.unit or 'unit'}" for one in parameters)
            values = np.stack([table[path] for table in tables], axis=-1)
            variables[name.format(path)] = xarray.Variable(dimensions, values, {"units": units})
    coordinates = {name: base.coords[name] for name in base.coords}
    return xarray.Dataset(variables, {**coordinates, "parameter": [one.key for one in parameters]})
