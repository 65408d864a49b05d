"""Formulas as expression graphs: built by arithmetic, differentiated exactly, and written as source to be compiled.

    scalar        formulas as nodes of an expression graph
    tables        functions given by tables
    derivative    forward differentiation
    substitution  values for names
    evaluation    numerical evaluation
    program       readable source: one assignment for each common subexpression
    script        programs of formulas, of which only live statements are written
    generated     generated source, compiled once
    instructions  generated source as LLVM instructions
    vectors       functions of vectors in generated source, for many runs at once
    trigonometry  sine and cosine of one angle together
    reading       expressions of a scene file as formulas

The recursion (18)-(35) of Si and Guenter is `codegen.recursion`.
"""
