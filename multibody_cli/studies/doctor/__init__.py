"""Examination of a scene before it is run: figures and advice.

subject        the scene in joint coordinates at its start, a trial run, and findings: place, cause, remedy, weight
diagnosis      the catalogue of checks; all findings in order of weight
redundancy     degrees of freedom, and how they are counted; redundant rows, and the change that removes them
small_motions  linearization at the start: frequencies, damping, growth, the bodies that move
steps          longest stable step of each integrator, unstable equilibrium, condition numbers
placement      bodies that overlap or fall freely, mass ratios, and units that look wrong
trial_run      outcome of the trial run, its alarms, and expectations that test nothing
"""
