"""Sparse KKT system of a tree in maximal coordinates: factorizations (Baraff 1996).

    nodes         memory layout of the blocks of the nodes
    assembly      blocks of bodies and of constraint rows: (8)
    ldl_tree      the operations at one node of a symmetric matrix: 7.3, appendix A
    ldl_joint     its nodes of rigid bodies on joints, as articulated bodies
    joint_nodes   their list, and their blocks
    ldl_rigid     its other nodes of rigid bodies, by value
    ldl_general   all other nodes, in loops
    ldu_tree      the passes over the tree of an unsymmetric matrix: Bruedigam and Manchester 2020, (39), Alg. 3 and 4
    ldu_rigid     its nodes by value
    ldu_general   its nodes in loops

The equations are in `docs/theory/baraff.md`.
"""
