"""Code generation: the forward dynamics of one model as source, which is compiled once.

    links        constants of each link, and the structure that equal links share
    runs         chains of links that repeat, which become loops
    joint_steps  the parts of a joint as formulas
    recursion    the articulated-body equations of one link
    passes       one pass over the tree: constant propagation and elimination of unused values
    text         the source of a function: its loops and their bodies
    layout       positions in the tables and in memory
    source       functions that share their tables, compiled
    placing      poses and velocities of bodies
    equations    Method I: the passes of one evaluation
    kinematics   Method II: joint kinematics only

Source: Si and Guenter, A linear-time algorithm with general joint models (2011), Methods I and II.
"""
