"""Output of a run: channels, sinks that record them, and trajectories read back from a file or memory.

::

    Samples ──History──▶ Block ──Series──▶ arrays ──Hdf5Sink──▶ result file ──read_trajectory──▶ Trajectory
                                             └─────MemorySink───────────────────────────────────▶ Trajectory

Modules that depend on the file format are `hdf5`, its parts `hdf5_*` and `recorded_rows`, and `trajectory`.
`carried_state` and `checkpoint` keep the state of a run beside its file.  The package imports no compiled code.
"""
