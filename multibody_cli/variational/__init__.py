"""Variational integrators: discrete Euler-Lagrange (DEL) equations of multibody systems, and their solution.

Where the equations of the papers are:

    Lee et al. 2016    (18)-(19), Alg. 2        poses at the iterate              `poses.compute_poses`
                       (21a), (21b)             residual of one body (DRNEA)      `discrete_motion.drnea_body_residuals`
                       (21a), (22)              inward pass of DRNEA              `newton.drnea_residual`
                       (25), Alg. 3             correction by RIQN                `unconstrained.riqn_correction`
                       (25) with constraints                                      `constrained.riqn_response`
                       Alg. 1, Alg. 4           Newton's method                   `newton`
    Bruedigam and      (22)-(33)                discrete momentum                 `discrete_motion`
    Manchester 2020    (36)-(39)                Newton on maximal coordinates     `newton_maximal`
                       Alg. 1-4                 graph-based LDU factorization     `kkt.ldu_tree`
"""
