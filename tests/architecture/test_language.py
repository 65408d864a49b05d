"""The glossary and the picture of the layers agree with the code, and given-up words do not come back."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "multibody_cli"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS, GIVEN_UP, UNWRITTEN = re.split("## Words that are not used|## Words that sentences do not contain", GLOSSARY)

SENTENCES = (".js", ".md", ".py", ".yaml")
"""Suffixes of files with sentences."""


def rows(text: str) -> list[list[str]]:
    """Cells of all tables of a page, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in ("term", "word")]


def identifiers(path: Path) -> Iterator[str]:
    """Names of functions, classes, parameters, fields and variables that a module defines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


QUANTITIES = {
    "A": "inertia; matrix of a linear system",
    "B": "inertia or matrix beside A",
    "C": "product of matrices; frame of a child",
    "D": "derivative; diagonal",
    "E": "weights of an error",
    "F": "force",
    "G": "reaction to impulses; matrix beside A",
    "H": "coupling of moments and forces of an inertia",
    "J": "Jacobian; moments of inertia",
    "K": "stiffness",
    "L": "lower triangle",
    "M": "mass matrix; frame of a joint",
    "N": "matrix of normals; normal",
    "P": "projection; frame of a parent",
    "Q": "rows beside P",
    "R": "rotation",
    "S": "motion subspace",
    "U": "upper triangle",
    "V": "motion",
    "W": "wrench; Delassus matrix",
    "X": "transformation; columns of unknowns",
    "Y": "solution of a block",
    "Z": "impulse of a velocity",
}
"""Capital letters that are names of parameters: physical quantities and matrices, no records of other things."""

COMPONENTS = re.compile("[a-zA-Z]|[xyz]{2}|shape")
"""Attributes of a quantity."""


def records_called_by_letters(path: Path) -> Iterator[str]:
    """Functions with a parameter of one capital letter that is no quantity, or has fields that are no components."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for letter in (a.arg for a in node.args.args) if isinstance(node, ast.FunctionDef | ast.Lambda) else ():
            if len(letter) == 1 and letter.isupper():
                used = [one for one in ast.walk(node) if isinstance(one, ast.Attribute)]
                fields = [one.attr for one in used if isinstance(one.value, ast.Name) and one.value.id == letter]
                if letter not in QUANTITIES or not all(map(COMPONENTS.fullmatch, fields)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {letter}"


def docstrings(path: Path) -> Iterator[str]:
    """Docstrings of a module, its classes and its functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def test_every_term_has_one_entry():
    terms = [row[0] for row in rows(TERMS)]
    assert len(terms) > 50
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize("row", rows(TERMS), ids=lambda row: row[0])
def test_a_term_has_a_sentence_and_a_file(row):
    _, sentence, _, file = row
    assert sentence.endswith(".")
    assert (PACKAGE / file.strip("`")).is_file()


def given_up_words() -> dict[str, tuple[str, ...]]:
    """Words that names must not contain, each with the folders and files in which it is the term for another thing."""
    quoted = [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows(GIVEN_UP)]
    return {word: tuple(places) for words, _, places in quoted for word in words}


def words_of(name: str) -> set[str]:
    """The words of an identifier; "degrees of freedom" is one."""
    text = re.sub("degrees?_of_freedom", "dof", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return set(text.split("_"))


def words_of_text(text: str) -> set[str]:
    """The words of a docstring; "degrees of freedom" is one."""
    return words_of(re.sub("[^a-z]+", "_", text.lower()))


def test_words_of_identifiers():
    assert words_of_text("A lock;\n two degrees\n of freedom.") == {"a", "lock", "two", "dof", ""}
    assert words_of("_max_StepHalvings") == {"", "max", "step", "halvings"}
    assert words_of("one_degree_of_freedom") == {"one", "dof"}
    assert {"push", "pushes", "lock", "stride"} <= set(given_up_words())


@pytest.mark.parametrize("folder", ["multibody_cli", "tests"])
def test_given_up_words_do_not_come_back(folder):
    given_up = given_up_words()
    found = {
        f"{path.relative_to(ROOT)}: {name}: {word}"
        for path in (ROOT / folder).rglob("*.py")
        for name, words in (
            *((name, words_of(name)) for name in identifiers(path)),
            *((text.splitlines()[0], words_of_text(text)) for text in docstrings(path) if text),
        )
        for word in words & set(given_up)
        if not path.relative_to(ROOT).as_posix().startswith(given_up[word])
    }
    assert not found


def unwritten_words(text: str) -> set[str]:
    """Words of a text that sentences do not contain; `what` may begin a question."""
    words = [word for cell, _ in rows(UNWRITTEN) for word in re.findall(r"`(\w+)`", cell)]
    return set(re.findall(rf"\b({'|'.join(words)})\b(?!(?<=what)[^.\n]*\?)", text.lower()))


def test_unwritten_words_are_recognized():
    assert unwritten_words("It returns what moves.  Is it free?\nThe table Gives it.") == {"what", "gives"}
    assert unwritten_words("What moves?\ntest_what_rests") == set()


@pytest.mark.parametrize("folder", ["multibody_cli", "tests", "docs", "scenes", "."])
def test_sentences_do_not_contain_unwritten_words(folder):
    own = {ROOT / "docs" / "glossary.md", Path(__file__)}
    paths = (ROOT / folder).glob("*.md") if folder == "." else (ROOT / folder).rglob("*")
    checked = [path for path in paths if path.suffix in SENTENCES and path not in own]
    found = {path.relative_to(ROOT).as_posix(): unwritten_words(path.read_text(encoding="utf-8")) for path in checked}
    assert {path: words for path, words in found.items() if words} == {}


def test_letters_are_physical_quantities():
    assert not [found for path in PACKAGE.rglob("*.py") for found in records_called_by_letters(path)]


def test_the_picture_of_the_layers_is_current():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "layers.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"]()
