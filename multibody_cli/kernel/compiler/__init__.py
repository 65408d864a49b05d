"""The compiler front end: from a kernel and the types of its arguments to code for the store, by numba.

Only the modules of this folder import numba.  Numba infers types and writes LLVM IR, in contexts of this package, so
that other users of numba in the process are not affected.  Formulas are stored as bitcode and linked into the kernels
that call them, where they are inlined and optimized.  Kernels become object code and are called by their symbols.  A
caller needs only the result type of a kernel: one without result can be compiled later, in any order, by any process.

    block_types  numba's types of arguments and results
    arrays       the words of an array that a call passes
    words        code that loads arguments from words, and stores results in words
    lazy_calls   calls of kernels that are loaded when they are first called
    units        compilation units, and functions as their callers see them
    extensions   numba's functions of blocks and of values
    contexts     calling convention, libraries, and contexts of types and of code
    pipeline     from a function to LLVM IR, and on to object code
    entries      entry points and functions of generated source

Each module imports only those above it.  `docs/numba-releases.md` names their hooks into numba, and the tests.
"""
