"""Output quantities of a state: bodies, joints, forces, contacts and moment arms.

Each file has a kernel that stores quantities of one output instant in row k of the samples (`output.samples`):

    observe(system, state, work, rows, samples, k)       of a state, for which `work` holds placed, accelerated bodies
    observe(system, contact_work, rows, samples, k)      of the last step with contacts or joint friction

The channels of `output.channels` name the file that computes them.
"""
