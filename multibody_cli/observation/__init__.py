"""Output quantities of a state: samples of bodies, joints, forces, contacts and moment arms."""
