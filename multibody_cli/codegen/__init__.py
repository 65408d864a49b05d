"""Forward dynamics written out for one model: from its links to the source of one function, compiled once.

    links        what is constant about each link, and what links that are alike share
    runs         chains of links that repeat, which become loops
    steps        how the parts of a joint are crossed, as formulas
    recursion    the equations, for one link
    passes       one pass over the tree: what goes from link to link, and what of it is known to vanish
    text         the source of a function: its loops, and the scripts in them
    layout       where everything lies
    source       functions that share their tables, compiled
    equations    Method I: the passes of one evaluation
    kinematics   Method II: joints alone

Source: Si and Guenter, A linear-time algorithm with general joint models (2011), Methods I and II.
"""
