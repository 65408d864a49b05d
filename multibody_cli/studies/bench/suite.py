"""Suites: named sets of benchmarks, each a YAML file with options of the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from multibody_cli.document.document import read_document
from multibody_cli.document.nodes import Node, plain
from multibody_cli.document.problems import Problems
from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.limits import Usage
from multibody_cli.scene.explain import explain
from multibody_cli.spec import Spec
from multibody_cli.studies.bench.options import BenchSpec


def bench_scenes() -> Path:
    """Return the folder of the project's benchmarks: beside the package in a checkout, in it if it is installed."""
    package = Path(__file__).parents[2]
    beside, inside = package.parent / "scenes" / "bench", package / "scenes" / "bench"
    folder = beside if beside.is_dir() else inside
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


class SuiteSpec(Spec):
    """A named set of benchmarks."""

    description: str = Field("", description="What the suite is for.")
    benches: list[BenchSpec] = Field(min_length=1, description="The benchmarks, one after the other.")


def read_suite(name: str) -> list[BenchSpec]:
    """Read a suite.

    Parameters
    ----------
    name
        Name of a suite of the project, or path of any other file. Scene paths in it are relative to the file.

    Raises
    ------
    ArgumentError
        The suite does not exist; the message lists the existing ones.
    SceneError
        With all problems of the file.
    """
    path = _path_of(name)
    problems = Problems()
    tree = read_document(path, str(path), problems, Usage())
    suite = _validated(tree, problems)
    problems.raise_any()
    assert suite is not None
    return [
        bench.model_copy(update={"scenes": tuple(_beside(path, scene) for scene in bench.scenes)})
        for bench in suite.benches
    ]


def _beside(suite: Path, scene: Path) -> Path:
    return Path(os.path.normpath(suite.parent / scene))


def _path_of(name: str) -> Path:
    path = Path(name)
    if path.suffix == ".yaml" or len(path.parts) > 1:
        return path
    suites = bench_scenes() / "suites"
    path = suites / f"{name}.yaml"
    if not path.is_file():
        there = sorted(suite.stem for suite in suites.glob("*.yaml"))
        raise ArgumentError(f"no suite `{name}`: {nearest(name, there)}; available: {', '.join(there)}")
    return path


def _validated(tree: Node, problems: Problems) -> SuiteSpec | None:
    data: Any = plain(tree)
    try:
        return SuiteSpec.model_validate(data)
    except ValidationError as error:
        for where, message in explain(error, SuiteSpec):
            problems.add_at(tree, where, message)
        return None
