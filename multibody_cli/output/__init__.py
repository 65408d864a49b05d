"""What a run leaves behind: channels, the sinks that record them and the trajectories that are read back.

::

    Samples ──History──▶ Block ──Series──▶ arrays ──Hdf5Sink──▶ result file ──read_trajectory──▶ Trajectory
                                             └─────MemorySink───────────────────────────────────▶ Trajectory

Only `hdf5` and `trajectory` know the file format; nothing here imports compiled code.
"""
