"""The contact step: constraint rows, factors, islands, friction, impulses, and dry friction of joints."""
