"""How fast methods are, how their cost grows, and what accuracy it buys.

`words` says what may be asked for and `plan` which runs that makes; `campaign` does them one after the other.
"""
