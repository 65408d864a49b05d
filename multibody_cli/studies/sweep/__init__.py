"""Many runs of one scene with different values, as the rows of one table.

::

    --vary ──Design──▶ runs ──run_batch, in workers──▶ rows ──RowFile──▶ SweepTable (HDF5, Parquet)

A `Design` lists the values of each run.  `run_batch` is the only function that executes runs; it returns a row for
each.  Runs that differ in their initial states alone may be stepped together, in `lanes`; runs whose own values are
initial coordinates and rates of joints, `equal_models`, become rows all at once.
"""
