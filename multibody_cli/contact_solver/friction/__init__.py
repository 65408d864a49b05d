"""Solvers for Coulomb friction problems, without knowledge of bodies or methods.

    problem                 the problem with a factored matrix
    dense                   the problem with its whole matrix, and the conditions of Coulomb's law
    cones                   projections by laws, and smoothed ones
    proximal                the solver of all scenes
    proximal_step           its iterations
    natural_map             Newton's method for the natural map
    rescue                  solvers where iterations fail: active sets, paths; and a guess for bodies at rest
    elimination_order       order of a sparse matrix over the contact graph, and its fill
    block_matrix            sparse linear systems of the Newton steps
    six_columns             products and solutions with blocks of six columns, as vector instructions
    solvers                 choice between the proximal method and staggered projections
    staggered_projections   independent solution: notes 2.11, (2.113), (2.114), Alg. 7
    anderson                acceleration of its iteration

The equations are in `docs/theory/friction.md`.
"""
