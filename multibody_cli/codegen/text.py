"""The source of a function that makes passes over a tree: its loops, and the scripts in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from multibody_cli.codegen.layout import RUN_WIDTH, RUN_WORDS, Layout, Strides
from multibody_cli.codegen.passes import Carry, Woven
from multibody_cli.codegen.runs import Kind, Plan
from multibody_cli.symbolic.program import Writer
from multibody_cli.symbolic.scalar import Value
from multibody_cli.symbolic.script import Put, write

_MOVING = Strides._fields


_NAME = re.compile(r"\b([A-Za-z]+)([1-9][0-9]*)?(_[A-Za-z]+)?\b")


class Numbering:
    """Numbers names on from one text to the next, so that each is given once: easier to read and to compile."""

    def __init__(self) -> None:
        self._last: Counter[str] = Counter()

    def numbered_on(self, lines: Sequence[str], given: Iterable[str]) -> list[str]:
        """Give lines in which the names that they give follow those of all lines before."""
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
    """Give the stem of a name, its number and what follows; None of names that are carried."""
    found = _NAME.fullmatch(word)
    return (found[1], int(found[2] or 1), found[3] or "") if found else None


def write_function(
    docstring: str, arguments: Iterable[str], plan: Plan, layout: Layout, passes: Sequence[Woven]
) -> str:
    """Write the function that makes these passes, one after the other."""
    numbering = Numbering()
    lines = [f"def generated({', '.join(arguments)}):", f'    """{docstring}"""']
    for woven in passes:
        lines.append("")
        lines += [f"    # ---- {woven.work.title}"]
        lines += _indented((_straight if plan.is_straight else _chosen)(plan, layout, woven, numbering))
    return "\n".join(lines) + "\n"


def _indented(lines: Sequence[str], by: str = "    ") -> list[str]:
    return [by + line if line else line for line in lines]


def _straight(plan: Plan, layout: Layout, woven: Woven, numbering: Numbering) -> list[str]:
    """Every kind once: one after the other, with the numbers of its run."""
    order = range(len(plan.runs))
    lines: list[str] = []
    for r in reversed(order) if woven.work.inward else order:
        run = plan.runs[r]
        first, last = run.links[0].row, run.links[-1].row
        lines.append(f"# link {first}" if first == last else f"# links {first} to {last}")
        values = [str(number) for number in layout.runs[r, 1:]]
        lines += _written(plan.kinds[run.kind], layout, woven, numbering, values)
    return lines


def _chosen(plan: Plan, layout: Layout, woven: Woven, numbering: Numbering) -> list[str]:
    """A loop over all runs, with a branch for each kind."""
    lines, count = [], len(plan.runs)
    values = [f"runs[r + {1 + k}]" for k in range(len(RUN_WORDS))]
    for k, kind in enumerate(plan.kinds):
        lines.append(f"{'elif' if k else 'if'} runs[r] == {k}:")
        lines += _indented([*_written(kind, layout, woven, numbering, values), "pass"])
    end = RUN_WIDTH * count
    span = f"{end - RUN_WIDTH}, -1, -{RUN_WIDTH}" if woven.work.inward else f"0, {end}, {RUN_WIDTH}"
    return [f"for r in range({span}):", *_indented(lines)]


def _written(kind: Kind, layout: Layout, woven: Woven, numbering: Numbering, values: Sequence[str]) -> list[str]:
    """Write the loop over the periods of a run, and what comes before and after it."""
    k, work = kind.sites[0].kind, woven.work
    stride, entry, alive = layout.strides[k], woven.entries[k], woven.statements[k]
    carried = [i for i in sorted(woven.needed) if entry[i] is None]
    left = {s.place.number: text_of(s.value) for s in alive if isinstance(s, Put) and isinstance(s.place, Carry)}
    body = write([s for s in alive if not (isinstance(s, Put) and isinstance(s.place, Carry))], layout.places)
    given = [word for line in body if not line.startswith(("#", "memory", "a[")) for word in _given(line)]
    numbered = numbering.numbered_on([*body, *left.values()], given)
    body, left = numbered[: len(body)], dict(zip(left, numbered[len(body) :], strict=True))
    before = list(_begun(kind, woven, carried))
    if kind.repeats:
        words = ", ".join(work.words[i] for i in carried)
        if carried:
            body.append(f"{words} = {', '.join(left[i] for i in carried)}")
        left = {i: work.words[i] if entry[i] is None else text for i, text in left.items()}
    after = list(_ended(kind, woven, left))
    used = [word for word in _MOVING if _occurs(word, [*body, *before, *after])]
    moves = [(word, step) for word in used if (step := getattr(stride, word))]
    if kind.repeats and not all(line.startswith("#") for line in body):
        sign = "-" if work.inward else "+"
        body += [f"{word} {sign}= {step}" for word, step in moves]
        if work.inward:
            before += [f"{word} += {step} * (n - 1)" for word, step in moves]
        body = ["for _ in range(n):", *_indented(body)]
    lines = [*before, *body, *after]
    read = [(word, value) for word, value in zip(RUN_WORDS, values, strict=True) if _occurs(word, lines)]
    header = " = ".join(", ".join(column) for column in zip(*read, strict=True))
    return [header, *lines] if read else lines


def _begun(kind: Kind, woven: Woven, carried: Sequence[int]) -> Iterator[str]:
    """Write where the numbers that are carried come from."""
    work = woven.work
    for i in carried:
        if work.inward:
            place = f"memory[end + {work.area + i}]"
            yield f"{work.words[i]} = {place if kind.leads_on else 0.0}"
            if kind.leads_on:
                yield f"{place} = 0.0"
        else:
            place = f"memory[inner + {work.area + i}]"
            yield f"{work.words[i]} = {repr(work.ground[i]) if kind.is_rooted else place}"


def _ended(kind: Kind, woven: Woven, left: dict[int, str]) -> Iterator[str]:
    """Write where the last numbers go."""
    work = woven.work
    for i, text in sorted(left.items()):
        if work.inward:
            if not kind.is_rooted and text != "0.0":
                yield f"memory[inner + {work.area + i}] += {text}"
        elif kind.leads_on:
            yield f"memory[end + {work.area + i}] = {text}"


def _given(line: str) -> list[str]:
    """Give the names that a line gives."""
    return line.partition(" = ")[0].split(", ")


def text_of(value: Value) -> str:
    """Write a value that is a name or a constant."""
    writer = Writer([value])
    writer.share(value)
    return writer.text(value)


def _occurs(word: str, lines: Sequence[str]) -> bool:
    return any(re.search(rf"\b{word}\b", line) for line in lines)
