"""Output of a run: channels, sinks that record them, and trajectories read back from a file or memory.

::

    Samples ──History──▶ Block ──Series──▶ arrays ──Hdf5Sink──▶ result file ──read_trajectory──▶ Trajectory
                                             └─────MemorySink───────────────────────────────────▶ Trajectory

Only `hdf5` and `trajectory` depend on the file format.  The package imports no compiled code.
"""
