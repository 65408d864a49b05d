"""Lanes: many runs of one model, `LANES` at a time in vector registers.

The generated code of method `symbolic` and the time steps around it are compiled with vectors of numbers in place of
numbers.  Each run has a lane.

    tracing   kernels as generated source: their statements for symbolic arrays
    schemes   time steps of an integrator
    bodies    bodies that forces act on
    forces    generalized forces of a model
    program   the whole run as one generated function, and its tables
    batch     runs: on all cores, by lanes where they are supported, else one by one
"""
