"""Vectors of numbers in generated code: one function applied to all lanes.

Each lane of a result depends on the same lane of the operands alone, bit by bit.  Square roots, roundings, and sines
and cosines up to a bound are vector instructions; other functions are called lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from multibody_cli.kernel import LANES, in_python
from multibody_cli.symbolic import trigonometry

NUMBER, INTEGER = ir.DoubleType(), ir.IntType(64)
VECTOR = ir.VectorType(NUMBER, LANES)

_BIT, _WORD = ir.IntType(1), ir.IntType(32)
_BITS, _WORDS = ir.VectorType(_BIT, LANES), ir.VectorType(_WORD, LANES)

Call = Callable[[Any, list[Any]], Any]


def splat(builder: Any, number: Any) -> Any:
    """Return the vector of equal numbers."""
    if isinstance(number, ir.Constant):
        return ir.Constant(VECTOR, [number] * LANES)
    first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, _WORD(0))
    return builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), ir.Constant(_WORDS, [_WORD(0)] * LANES))


def apply(builder: Any, call: Call, name: str, function: Any, vectors: Sequence[Any]) -> Any:
    """Apply a function to vectors.

    Parameters
    ----------
    builder
        The instruction builder of llvmlite.
    call
        Writes a call of a function of numbers, and returns the LLVM value of its result.
    name, function
        The function, and its name in generated source.
    vectors
        The arguments.

    Returns
    -------
    A vector; for a function of several results, an LLVM array of vectors.
    """
    if name in _INSTRUCTIONS:
        return _instruction(builder, _INSTRUCTIONS[name], vectors)
    if name == "sine_and_cosine":
        return _sine_and_cosine(builder, call, vectors[0])
    if name in _PLACES:
        return builder.extract_value(_sine_and_cosine(builder, call, vectors[0]), _PLACES[name])
    return _lane_by_lane(builder, call, function, vectors)


_INSTRUCTIONS = {"sqrt": "sqrt", "floor": "floor", "fabs": "fabs"}
"""LLVM's functions of vectors, by their names in generated source."""


_PLACES = {"sin": 0, "cos": 1}
"""Places of functions among the results of `_sine_and_cosine`."""


def _instruction(builder: Any, word: str, vectors: Sequence[Any]) -> Any:
    name = f"llvm.{word}.v{LANES}f64"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(VECTOR, [VECTOR] * len(vectors)), name)
    return builder.call(function, vectors)


def _lane_by_lane(builder: Any, call: Call, function: Any, vectors: Sequence[Any]) -> Any:
    """Call a function of numbers for each lane, in a loop."""
    memory = [_allocated(builder, vector) for vector in vectors]
    with builder.goto_entry_block():
        counter = builder.alloca(_WORD)
    builder.store(_WORD(0), counter)
    body, end = builder.append_basic_block("lane"), builder.append_basic_block("lanes.end")
    builder.branch(body)
    builder.position_at_end(body)
    lane = builder.load(counter)
    found = call(function, [builder.load(builder.gep(one, [_WORD(0), lane])) for one in memory])
    is_several = not isinstance(found.type, ir.DoubleType)
    count = len(found.type) if is_several else 1
    numbers = [builder.extract_value(found, k) for k in range(count)] if is_several else [found]
    results = [_allocated(builder, None) for _ in numbers]
    for number, result in zip(numbers, results, strict=True):
        builder.store(number, builder.gep(result, [_WORD(0), lane]))
    following = builder.add(lane, _WORD(1))
    builder.store(following, counter)
    branch = builder.cbranch(builder.icmp_unsigned("<", following, _WORD(LANES)), body, end)
    branch.set_metadata("llvm.loop", _not_unrolled(builder.module))
    builder.position_at_end(end)
    values = [builder.load(builder.bitcast(result, VECTOR.as_pointer()), align=8) for result in results]
    return _collected(builder, values) if is_several else values[0]


def _not_unrolled(module: Any) -> Any:
    """Return metadata of a loop that stays a loop: copies of its body for each lane would only take time to compile."""
    loop = module.add_metadata([ir.MetaDataString(module, f"loop {len(module.metadata)}")])
    loop.operands = (loop, module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")]))
    return loop


def _allocated(builder: Any, vector: Any) -> Any:
    """Allocate the numbers of a vector in the entry block, and store the vector if there is one."""
    with builder.goto_entry_block():
        numbers = builder.alloca(ir.ArrayType(NUMBER, LANES))
    if vector is not None:
        builder.store(vector, builder.bitcast(numbers, VECTOR.as_pointer()), align=8)
    return numbers


def _collected(builder: Any, values: Sequence[Any]) -> Any:
    """Return an LLVM array of vectors."""
    collected = ir.Constant(ir.ArrayType(VECTOR, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        collected = builder.insert_value(collected, value, k)
    return collected


# --- sine and cosine ----------------------------------------------------------------------------------------------
class _Operand:
    """A vector with the arithmetic operators of Python, for formulas."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _with(self, operation: str, other: Any, swapped: bool = False) -> _Operand:
        value = other.value if isinstance(other, _Operand) else splat(self.builder, NUMBER(other))
        pair = (value, self.value) if swapped else (self.value, value)
        return _Operand(self.builder, getattr(self.builder, operation)(*pair))

    def __add__(self, other: Any) -> _Operand:
        return self._with("fadd", other)

    def __sub__(self, other: Any) -> _Operand:
        return self._with("fsub", other)

    def __rsub__(self, other: Any) -> _Operand:
        return self._with("fsub", other, swapped=True)

    def __mul__(self, other: Any) -> _Operand:
        return self._with("fmul", other)

    __radd__, __rmul__ = __add__, __mul__


def _sine_and_cosine(builder: Any, call: Call, x: Any) -> Any:
    """Write `trigonometry.sine_and_cosine` of a vector; lanes beyond its bound are computed one by one."""

    def rounded_down(one: Any) -> _Operand:
        return _Operand(builder, _instruction(builder, "floor", [one.value]))

    reduced, sine, cosine = map(
        in_python, (trigonometry.reduced, trigonometry.sine_of_reduced, trigonometry.cosine_of_reduced)
    )
    quadrant = rounded_down(_Operand(builder, x) * trigonometry.TWO_OVER_PI + 0.5)
    r = reduced(_Operand(builder, x), quadrant)
    z = r * r
    s, c = sine(r, z).value, cosine(z).value
    k = builder.fptosi(quadrant.value, _WORDS)

    def has_bit(words: Any, bit: int) -> Any:
        mask = ir.Constant(_WORDS, [_WORD(bit)] * LANES)
        return builder.icmp_unsigned("!=", builder.and_(words, mask), ir.Constant(_WORDS, [_WORD(0)] * LANES))

    odd = has_bit(k, 1)
    s, c = builder.select(odd, c, s), builder.select(odd, s, c)
    s = builder.select(has_bit(k, 2), builder.fneg(s), s)
    following = builder.add(k, ir.Constant(_WORDS, [_WORD(1)] * LANES))
    c = builder.select(has_bit(following, 2), builder.fneg(c), c)
    bound = splat(builder, NUMBER(trigonometry.REDUCED_EXACTLY_BELOW))
    large = builder.fcmp_ordered(">", _instruction(builder, "fabs", [x]), bound)
    alone = trigonometry.sine_and_cosine
    return _with_exceptions(builder, large, [s, c], lambda: _lane_by_lane(builder, call, alone, [x]))


def _with_exceptions(builder: Any, exceptional: Any, values: Sequence[Any], write: Callable[[], Any]) -> Any:
    """Replace the values of exceptional lanes, if there are any, by those that `write` computes."""
    memory = []
    for value in values:
        with builder.goto_entry_block():
            memory.append(builder.alloca(VECTOR))
        builder.store(value, memory[-1])
    bits = builder.bitcast(exceptional, ir.IntType(LANES))
    with builder.if_then(builder.icmp_unsigned("!=", bits, ir.IntType(LANES)(0)), likely=False):
        found = write()
        for k, (value, location) in enumerate(zip(values, memory, strict=True)):
            builder.store(builder.select(exceptional, builder.extract_value(found, k), value), location)
    return _collected(builder, [builder.load(location) for location in memory])
