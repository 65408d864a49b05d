"""Output quantities of a state: bodies, joints, forces, contacts and moment arms."""
