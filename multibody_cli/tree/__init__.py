"""Rigid-body tree algorithms: kinematics, articulated-body recursions, Jacobians, mass matrix (Featherstone).

    kinematics        pose, twist and acceleration of every body: notes Alg. 9, lines 1-5
    articulated_body  elimination of one joint: notes 2.12, Alg. 9, and 2.13, Alg. 10
    joint_wrenches    wrench of every joint: Alg. 9, lines 21, 22, 26
    jacobian          J and dJ/dt, and products with them: notes 2.2, Alg. 2, and 2.10, Alg. 5 and 6
    projection        equations of motion with full matrices: notes (2.18)
    mass_matrix       composite rigid bodies and factorization: Featherstone 2008, tables 6.2, 6.3, 6.5
    configuration     displacement of q along v
    energy            energies and momenta
    markers           points of affine bodies
    affine            kinematics of affine bodies
    workspace         work arrays

Sources: Sueda, notes 2; Featherstone, Rigid Body Dynamics Algorithms (2008); Si and Guenter 2011.  The equations are in
`docs/theory/aba.md` and `docs/theory/redmax.md`.
"""
