"""One step with contacts: rows, factors, islands, friction, impulses, and the dry friction of joints."""
