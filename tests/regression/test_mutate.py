"""The mutator of the mutation test: locations, mutants, and the random selection.

The mutants themselves are tried by `mutate.py`, which takes too long for a test.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from mutants import EQUIVALENT, PER_FILE, Mutant, all_mutants, drawn, mutants_of
from reader_mutants import EQUIVALENT as EQUIVALENT_OF_READERS
from reader_mutants import drawn_of_each_operator, faults_of, reader_mutants

PACKAGE = Path(__file__).parents[2] / "multibody_cli"
PACKAGES = {
    *("alarms", "cables", "constraint_solver", "constraints", "contact_solver", "contacts", "forces", "implicit"),
    *("initial", "joints", "kkt", "lanes", "linalg", "methods", "observation", "output", "render", "signals"),
    *("spatial", "statics", "studies", "symbolic", "tree", "variational"),
}


@pytest.fixture(scope="module")
def every_mutant() -> list[Mutant]:
    """Made when a test asks for it: reading the whole package takes seconds."""
    return all_mutants(PACKAGE)


def differences(one: ast.AST, other: ast.AST) -> list[str]:
    """The smallest pieces in which two syntax trees differ, as text; operators by their class."""
    if type(one) is not type(other):
        return [f"{ast.unparse(one) or one} to {ast.unparse(other) or other}"]
    found = []
    for field in one._fields:
        a, b = getattr(one, field), getattr(other, field)
        pairs = zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]
        for x, y in pairs:
            if isinstance(x, ast.AST):
                found += differences(x, y)
            elif x != y:
                found.append(f"{x} to {y}")
    return found


def mutated_lines(body: str) -> list[str]:
    text = f"@kernel\ndef push(a, b, i, j):\n    {body}\n"
    return [mutant.applied(text).splitlines()[-1].strip() for mutant in mutants_of("forces/some.py", text)]


@pytest.mark.parametrize(
    ("body", "mutants"),
    [
        ("a = b - i", ["a = b + i"]),
        ("a[i] += b", ["a[i] -= b"]),
        ("a = -b", ["a = b"]),
        ("a = b / (i)", ["a = b * (i)"]),
        ("a = b * i[0]", ["a = b / i[0]"]),
        ("a = b * i", []),  # it might be a vector
        ("a = b < i", ["a = b >= i"]),
        ("a = b[i, j]", ["a = b[j, i]"]),
        ("a = b[i, i]", []),
        ("a = b[i + j]", []),  # an index
        ("a = b - 1", []),  # a count
        ("return -1", []),
        ("for k in range(a + b, -i):\n        return 2.0", ["return 2.02"]),
        ("a = b < 1e-9 + i", ["a = b >= 1e-9 + i"]),  # a tolerance
        ("a = '-' if 0.0 else b", []),
        ("a = (b)  - \\\n    (-(i))", ["(-(i))", "((i))"]),
        ("a = 'ü' + b", ["a = 'ü' - b"]),
    ],
)
def test_only_operators_of_kernels_are_mutated(body, mutants):
    assert mutated_lines(body) == mutants


def test_only_compiled_functions_are_mutated():
    text = "def plain(a):\n    return -a\n@template(b)\ndef free(a):\n    return -a\n"
    assert [mutant.line for mutant in mutants_of("forces/some.py", text)] == [5]


def test_every_package_has_mutants(every_mutant):
    assert {mutant.package for mutant in every_mutant} == PACKAGES


def test_a_mutant_parses_and_differs_in_one_operator(every_mutant):
    """Every seventh mutant."""
    chosen = every_mutant[::7]
    texts = {file: (PACKAGE / file).read_text(encoding="utf-8") for file in {mutant.file for mutant in chosen}}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    for mutant in chosen:
        text = texts[mutant.file]
        assert text[mutant.start : mutant.end] == mutant.old, mutant
        changed = mutant.applied(text)
        assert changed[: mutant.start] == text[: mutant.start], mutant
        assert changed.endswith(text[mutant.end :]), mutant
        different = differences(trees[mutant.file], ast.parse(changed))
        # of two indices that change places, each name counts that is not the same in both
        alike = len(different) % 2 == 0 if mutant.kind == "index" else len(different) == 1
        assert different, mutant
        assert alike, (mutant, different)


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_draws_the_same_mutants_from_all_packages(every_mutant, seed):
    chosen = drawn(every_mutant, seed, 24)
    assert chosen == drawn(every_mutant[::-1], seed, 24)
    assert len(chosen) == len(set(chosen)) == 24
    assert {mutant.package for mutant in chosen} == PACKAGES
    assert max(Counter(mutant.file for mutant in chosen).values()) <= PER_FILE
    assert chosen != drawn(every_mutant, seed + 1, 24)


def test_most_drawn_mutants_change_a_sign(every_mutant):
    kinds = Counter(mutant.kind for seed in range(20) for mutant in drawn(every_mutant, seed, 24))
    assert kinds["sign"] > 0.7 * kinds.total()
    assert len(kinds) == 5


def test_equivalent_mutants_refer_to_existing_source(every_mutant):
    """An entry whose line has changed would otherwise let a mutant be drawn again, unseen."""
    for file, described in EQUIVALENT:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        assert described in [mutant.described(text) for mutant in mutants_of(file, text)]
        assert described not in [mutant.described(text) for mutant in every_mutant if mutant.file == file]


def test_a_mutant_is_described_in_one_line():
    text = "@kernel\ndef push(a):\n    return -a\n"
    (mutant,) = mutants_of("forces/some.py", text)
    assert mutant == Mutant("forces/some.py", 3, text.index("-"), text.index("-") + 1, "sign", "-", "")
    assert mutant.described(text) == "return -a  ->  return a"


@pytest.mark.parametrize(
    ("body", "mutants"),
    [
        ("if a < 3: pass", {"if not (a < 3): pass", "if a <= 3: pass", "if a < 4: pass", "if a < 2: pass"}),
        ("b = a and (not i)", {"b = a or (not i)", "b = a and ( i)"}),
        ("return f(a, i)", {"return None", "return f(i, a)"}),
        ("raise a from None", {"pass"}),
        ("f(a)", {"pass"}),
        ("b = a[i:]", {"b = a[:]"}),
        ("'·', a in i", {"'·', a not in i"}),
        ("b = f'{a == 1}'", set()),
    ],
)
def test_operators_of_readers(body, mutants):
    text = f"def read(a, i):\n    {body}\n"
    assert {mutant.applied(text).splitlines()[-1].strip() for mutant in faults_of("spec/some.py", text)} == mutants


def test_a_draw_of_readers_has_every_operator_once_and_parses():
    mutants = reader_mutants(PACKAGE.parent)
    chosen = drawn_of_each_operator(mutants, 1, 22)
    assert chosen == drawn_of_each_operator(mutants[::-1], 1, 22)
    assert len({mutant.kind for mutant in chosen}) == 22
    for mutant in drawn_of_each_operator(mutants, 2, 100):
        ast.parse(mutant.applied((PACKAGE / mutant.file).read_text(encoding="utf-8")))


def test_equivalent_mutants_of_readers_refer_to_existing_source():
    for file, described in EQUIVALENT_OF_READERS:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        assert described in [mutant.described(text) for mutant in faults_of(file, text)]
