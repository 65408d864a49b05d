"""Variational integrators: discrete Euler-Lagrange (DEL) equations of multibody systems, and their solution.

    step                the step of Lee et al. 2016 on one page: DRNEA, RIQN, momenta and velocities at its end
    poses               poses of bodies without velocities, (18)
    discrete_motion     discrete momentum of a body and its derivative
    se3                 the term of the discrete Lagrangian with the logarithm in SE(3)
    constrained         constraint rows: impulses and active set
    rows_at_end         their projection of velocities at the end of a step, rebounds, rows that forces press
    newton              Newton's and Broyden's methods in generalized coordinates, Alg. 1 and 4
    newton_constraints  constraint rows of the end of a step, for Newton's method
    svi                 the residual in O(n^2) and its derivative in O(n^3), for comparison
    newton_maximal      Newton's method of Bruedigam and Manchester 2020 in maximal coordinates, (35)-(39)
    maximal_joints      joints as constraints between two bodies
    joint_sides         their blocks in the linear system
    contacts            contact impulses at the start of a step
    energy              modified energy
    workspace           work arrays

The equations are in `docs/theory/variational.md`.
"""
