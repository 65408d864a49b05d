"""Trees of rigid bodies: kinematics, articulated-body recursions, Jacobians and the mass matrix (Featherstone)."""
