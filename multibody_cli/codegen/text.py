"""The source of a function: loops over the runs of a tree, and the scripts in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from multibody_cli.codegen.layout import RUN_FIELDS, RUN_WIDTH, CodeLayout, Strides
from multibody_cli.codegen.passes import Carry, SpecializedPass
from multibody_cli.codegen.runs import RunKind, RunPlan
from multibody_cli.symbolic.program import Writer
from multibody_cli.symbolic.scalar import Value
from multibody_cli.symbolic.script import Store, write

_INDEX_NAMES = Strides._fields


_NAME = re.compile(r"\b([A-Za-z]+)([1-9][0-9]*)?(_[A-Za-z]+)?\b")


class Numbering:
    """Renumbering of names, so that each is assigned once in a function: easier to read and faster to compile."""

    def __init__(self) -> None:
        self._last: Counter[str] = Counter()

    def renumbered(self, lines: Sequence[str], given: Iterable[str]) -> list[str]:
        """Return lines in which the numbers of the `given` names continue those of all lines before."""
        families = {word: family for word in given if (family := _family(word))}
        moved = {
            word: f"{stem}{number + self._last[stem] if number + self._last[stem] > 1 else ''}{tail}"
            for word, (stem, number, tail) in families.items()
        }
        highest: Counter[str] = Counter()
        for stem, number, _ in families.values():
            highest[stem] = max(highest[stem], number)
        self._last.update(highest)
        return [_NAME.sub(lambda found: moved.get(found[0], found[0]), line) for line in lines]


def _family(word: str) -> tuple[str, int, str] | None:
    """Split a name into stem, number and suffix; None for the name of a carried number."""
    found = _NAME.fullmatch(word)
    return (found[1], int(found[2] or 1), found[3] or "") if found else None


def write_function(docstring: str, arguments: Iterable[str], body: Sequence[str]) -> str:
    """Write a function."""
    lines = [f"def generated({', '.join(arguments)}):", f'    """{docstring}"""', *indented(body)]
    return "\n".join(lines) + "\n"


def write_passes(plan: RunPlan, layout: CodeLayout, passes: Sequence[SpecializedPass]) -> list[list[str]]:
    """Write the passes in order, the lines of each."""
    numbering, write_one = Numbering(), _unrolled_runs if plan.is_straight else _run_loop
    return [
        ["", f"# ---- {specialized.tree_pass.title}", *write_one(plan, layout, specialized, numbering)]
        for specialized in passes
    ]


def joined(passes: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of passes one after the other."""
    return [line for lines in passes for line in lines]


def indented(lines: Sequence[str], by: str = "    ") -> list[str]:
    """Indent lines that are not empty."""
    return [by + line if line else line for line in lines]


def _unrolled_runs(plan: RunPlan, layout: CodeLayout, specialized: SpecializedPass, numbering: Numbering) -> list[str]:
    """Write each run in turn, with its offsets as literals."""
    order = range(len(plan.runs))
    lines: list[str] = []
    for r in reversed(order) if specialized.tree_pass.inward else order:
        run = plan.runs[r]
        first, last = run.links[0].row, run.links[-1].row
        lines.append(f"# link {first}" if first == last else f"# links {first} to {last}")
        values = [str(number) for number in layout.runs[r, 1:]]
        lines += _run_body(plan.kinds[run.kind], layout, specialized, numbering, values)
    return lines


def _run_loop(plan: RunPlan, layout: CodeLayout, specialized: SpecializedPass, numbering: Numbering) -> list[str]:
    """Write a loop over all runs, with a branch for each kind."""
    lines, count = [], len(plan.runs)
    values = [f"runs[r + {1 + k}]" for k in range(len(RUN_FIELDS))]
    for k, kind in enumerate(plan.kinds):
        lines.append(f"{'elif' if k else 'if'} runs[r] == {k}:")
        lines += indented([*_run_body(kind, layout, specialized, numbering, values), "pass"])
    end = RUN_WIDTH * count
    span = f"{end - RUN_WIDTH}, -1, -{RUN_WIDTH}" if specialized.tree_pass.inward else f"0, {end}, {RUN_WIDTH}"
    return [f"for r in range({span}):", *indented(lines)]


def _run_body(
    kind: RunKind, layout: CodeLayout, specialized: SpecializedPass, numbering: Numbering, values: Sequence[str]
) -> list[str]:
    """Write the loop over the periods of a run, with the statements before and after it."""
    k, tree_pass = kind.sites[0].kind, specialized.tree_pass
    stride, entry, live = layout.strides[k], specialized.entries[k], specialized.statements[k]
    carried = [i for i in sorted(specialized.needed) if entry[i] is None]
    left = {s.location.number: text_of(s.value) for s in live if isinstance(s, Store) and isinstance(s.location, Carry)}
    body = write([s for s in live if not (isinstance(s, Store) and isinstance(s.location, Carry))], layout.locations)
    given = [word for line in body if not line.startswith(("#", "memory", "a[")) for word in _assigned_names(line)]
    numbered = numbering.renumbered([*body, *left.values()], given)
    body, left = numbered[: len(body)], dict(zip(left, numbered[len(body) :], strict=True))
    before = list(_read_state(kind, specialized, carried))
    if kind.repeats:
        carried_names = ", ".join(tree_pass.state_names[i] for i in carried)
        if carried:
            body.append(f"{carried_names} = {', '.join(left[i] for i in carried)}")
        left = {i: tree_pass.state_names[i] if entry[i] is None else text for i, text in left.items()}
    after = list(_write_state(kind, specialized, left))
    used = [word for word in _INDEX_NAMES if _is_used(word, [*body, *before, *after])]
    moves = [(word, step) for word in used if (step := getattr(stride, word))]
    if kind.repeats and not all(line.startswith("#") for line in body):
        sign = "-" if tree_pass.inward else "+"
        body += [f"{word} {sign}= {step}" for word, step in moves]
        if tree_pass.inward:
            before += [f"{word} += {step} * (n - 1)" for word, step in moves]
        body = ["for _ in range(n):", *indented(body)]
    lines = [*before, *body, *after]
    read = [(word, value) for word, value in zip(RUN_FIELDS, values, strict=True) if _is_used(word, lines)]
    header = " = ".join(", ".join(column) for column in zip(*read, strict=True))
    return [header, *lines] if read else lines


def _read_state(kind: RunKind, specialized: SpecializedPass, carried: Sequence[int]) -> Iterator[str]:
    """Write the assignments of the carried numbers before the loop."""
    tree_pass = specialized.tree_pass
    for i in carried:
        if tree_pass.inward:
            location = f"memory[end + {tree_pass.area + i}]"
            yield f"{tree_pass.state_names[i]} = {location if kind.continues else 0.0}"
            if kind.continues:
                yield f"{location} = 0.0"
        else:
            location = f"memory[inner + {tree_pass.area + i}]"
            is_known = kind.is_rooted and tree_pass.ground[i] is not None
            yield f"{tree_pass.state_names[i]} = {repr(tree_pass.ground[i]) if is_known else location}"


def _write_state(kind: RunKind, specialized: SpecializedPass, left: dict[int, str]) -> Iterator[str]:
    """Write the final state to memory."""
    tree_pass = specialized.tree_pass
    for i, text in sorted(left.items()):
        if tree_pass.inward:
            if not kind.is_rooted and text != "0.0":
                yield f"memory[inner + {tree_pass.area + i}] += {text}"
        elif kind.continues:
            yield f"memory[end + {tree_pass.area + i}] = {text}"


def _assigned_names(line: str) -> list[str]:
    """Return the names that a line assigns."""
    return line.partition(" = ")[0].split(", ")


def text_of(value: Value) -> str:
    """Return the text of a value that is a name or a constant."""
    writer = Writer([value])
    writer.share(value)
    return writer.text(value)


def _is_used(word: str, lines: Sequence[str]) -> bool:
    return any(re.search(rf"\b{word}\b", line) for line in lines)
