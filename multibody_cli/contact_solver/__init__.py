"""The contact step: constraint rows, factors, islands, friction, impulses, and dry friction of joints.

    contact_step    the step: notes 2.11, Alg. 8, lines 8, 9, 25, 26
    detection       contacts of a step
    rows            constraint rows of contacts
    resistance      their rows of resistance to rolling and spinning
    islands         articulations and islands
    factors         factors of the Delassus matrix (2.123)
    sleeping        islands at rest, which keep their impulses
    impact_times    paths through the impacts of a step
    solution        impulses, island by island: Alg. 8, line 23
    impact_order    contacts of a step that an earlier impact prevents
    impacts         laws of impact: restitution without gain of energy
    impact_problem  the velocities and rebounds of an island with impacts
    impact_passes   impacts that follow one another in a step
    impact_path     the impulse of a single contact whose slip changes in an impact
    joint_friction  dry friction of joints: (2.115)-(2.118), Alg. 8, lines 10 to 18
    tree_friction   dry friction of a tree in O(n)
    friction_states states of friction patches in its passes
    edges           contacts with the ground and limits in its passes
    edge_compliance their compliance, pass by pass
    edge_list       the rows of a step that can be such edges
    staggered_tree_friction
                    the same, friction and loads in turn, where joints jam
    friction_elimination
                    one pass over the bodies of trees and loops: unsymmetric articulated bodies
    joint_columns   joints of this pass, column by column
    two_directional_friction    joints with friction in two directions, as a block
    equation_elimination, joint_equations
                    joints in maximal coordinates, by six equations
    matrices        products and solutions of six rows
    open_loops      the wrenches of joints that close loops
    independent_equations
                    their equations where loops constrain a motion more than once
    friction_limits friction and limits in proportion to the loads of such a pass
    tree_motion     the motion for given states of friction, also with implicit forces on bodies
    tree_friction_workspace, elimination_workspace
                    plan and work arrays of these
    warm_start      initial guess from the previous step: Alg. 7, line 2
    results         energy accounts, diagnostics, forces for output
    workspace       work arrays
    laws            the laws of rows: equality, one-sided, Coulomb, convex relaxation
    friction        solvers of the friction problem: (2.113), (2.114), Alg. 7

Source: Sueda, notes 1.11 and 2.11.  The equations are in `docs/theory/friction.md`.
"""
