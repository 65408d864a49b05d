"""Forward dynamics written out for one model: from its links to the source of one function, compiled once.

    links        what is constant about each link, and what links that are alike share
    runs         chains of links that repeat, which become loops
    steps        how the parts of a joint are crossed, as formulas
    recursion    the equations, for one link
    passes       one pass over the tree: what goes from link to link, and what of it is known to vanish
    equations    the passes of one evaluation as source, and its tables

Source: Si and Guenter, A linear-time algorithm with general joint models (2011), Method I, (18)-(35).
"""
