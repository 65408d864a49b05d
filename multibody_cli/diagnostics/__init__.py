"""Messages of a run beside its alarms.

outcome         steps that failed: the cause, the coordinate, and a remedy; warnings of force elements
joint_domains   coordinates outside of their domain, near-singular positions, jumps of frames
"""
