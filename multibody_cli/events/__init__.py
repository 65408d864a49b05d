"""Events of a run: instants at which expressions of channels change their signs, located within steps."""
