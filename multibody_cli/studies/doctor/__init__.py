"""Examination of a scene before it is run: figures and advice.

subject        the scene in joint coordinates at its start, and a trial run
finding        a finding: place, cause, remedy, weight
diagnosis      the catalogue of checks; all findings in order of weight
dof_count      degrees of freedom, and how they are counted
redundancy     redundant rows, and the change that removes them
small_motions  linearization at the start: frequencies, damping, growth, the bodies that move
steps          longest stable step of each integrator
stability      unstable equilibrium at the start
conditioning   condition numbers of the mass matrix and of the constraints
masses         mass ratios, and units that look wrong
placement      bodies that overlap or fall freely
expectations   expectations that test nothing
trial_run      outcome of the trial run, and its alarms
"""
