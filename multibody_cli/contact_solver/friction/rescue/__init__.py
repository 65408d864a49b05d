"""Solvers for friction problems that proximal iterations leave unsolved: `rescue.rescue` is the entry.

    rescue          active sets, then paths and proximal iterations in turn
    active_set      exchanges of states of single contacts
    central_path    path following for the smoothed law
    smoothed_law    smoothed Coulomb's law and its Newton step
    resting_guess   impulses of bodies that come to rest, without a guess

No shipped scene at rest enters here.  Of 8,700 problems of the collapsing pile 3 do, of 30,800 of the chain over a bar
166, of 7,700 of the legged robot 21; of the pile with friction 1 and the default tolerance, one in ten.
"""
