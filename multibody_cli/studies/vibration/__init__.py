"""Small motions about a state of a scene: modes, and the linear system with inputs and outputs."""
