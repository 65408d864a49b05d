"""Files of papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from multibody_cli.document.document import read_document
from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.expressions import TEMPLATE, parse
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems, plain
from multibody_cli.scene.explain import explain
from multibody_cli.spec import Catalogue, Spec
from multibody_cli.studies.bench.options import bench_scenes
from multibody_cli.studies.papers.contract import ClaimSpec, MeasureSpec
from multibody_cli.studies.papers.measures import MEASURES

Measure = Annotated[MeasureSpec, Catalogue("a measure", MEASURES)]


class ExperimentSpec(Spec):
    """A table or a figure of a paper."""

    title: str = Field(description="Subject.")
    source: str = Field(description="Place in the paper, as in `table 1`.")
    measure: Measure = Field(description="The measure, with its options.")
    quick: dict[str, Any] = Field({}, description="Options of the measure that `--quick` replaces.")
    claims: list[ClaimSpec] = Field([], description="The claims.")


class PaperSpec(Spec):
    """A paper with its experiments, in its own order."""

    title: str = Field(description="Authors, year and title.")
    notes: list[str] = Field([], description="Differences that concern several experiments.")
    elsewhere: dict[str, str] = Field({}, description="Claims without an experiment, and where each is shown.")
    differences: dict[str, str] = Field({}, description="Differences from the paper and omissions, with reasons.")
    errata: dict[str, str] = Field({}, description="Errors of the paper, by equation.")
    experiments: dict[str, ExperimentSpec] = Field(min_length=1, description="The experiments by name.")


def papers() -> list[str]:
    """Return the names of all papers."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def read_paper(name: str, quick: bool = False) -> tuple[Path, PaperSpec]:
    """Read a paper, by choice with its smaller experiments; return the folder of its paths, and its content.

    Raises
    ------
    ArgumentError
        No paper has this name; the message lists the existing ones.
    SceneError
        With all problems of the file.
    """
    path = _folder() / f"{name}.yaml"
    if not path.is_file():
        raise ArgumentError(f"no paper `{name}`: {nearest(name, papers())}; available: {', '.join(papers())}")
    problems = Problems()
    tree = read_document(path, str(path), problems, Usage())
    content = plain(tree)
    if quick:
        _replace_by_quick(content)
    try:
        paper = PaperSpec.model_validate(content)
    except ValidationError as error:
        for where, message in explain(error, PaperSpec):
            problems.add_at(tree, where, message)
    problems.raise_any()
    for experiment in paper.experiments.values():
        for text in _conditions(experiment.claims):
            parse(text, TEMPLATE)
    return path.parent, paper


def _replace_by_quick(content: Any) -> None:
    """Replace options of measures by those of `quick`."""
    experiments = content.get("experiments") if isinstance(content, dict) else None
    for experiment in experiments.values() if isinstance(experiments, dict) else ():
        if isinstance(experiment, dict) and isinstance(experiment.get("measure"), dict):
            experiment["measure"] = {**experiment["measure"], **experiment.get("quick", {})}


def _conditions(claims: Sequence[ClaimSpec]) -> list[str]:
    return [text for claim in claims for text in (claim.holds, claim.better) if text is not None]


def _folder() -> Path:
    return bench_scenes().parent / "papers"
