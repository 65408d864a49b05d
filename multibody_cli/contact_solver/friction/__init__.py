"""Solvers for Coulomb friction problems, without knowledge of bodies or methods.

    problem                 the problem with a factored matrix
    dense                   the problem with its whole matrix, and the conditions of Coulomb's law
    cones                   projections onto admissible sets; convex relaxation, notes (1.85)-(1.88)
    proximal                the solver of all scenes
    proximal_step           Newton's method of one of its iterations
    natural_map             Newton's method for the natural map
    active_set              exchanges of states of single contacts
    resting_guess           impulses of bodies that come to rest, without a guess
    smoothed_law            smoothed Coulomb's law and its Newton step
    central_path            path following for the smoothed law
    elimination_order       order of a sparse matrix over the contact graph, and its fill
    block_matrix            sparse linear systems of the Newton steps
    six_columns             products and solutions with blocks of six columns, as vector instructions
    staggered_projections   independent solution: notes 2.11, (2.113), (2.114), Alg. 7
    anderson                acceleration of its iteration

The equations are in `docs/theory/friction.md`.
"""
