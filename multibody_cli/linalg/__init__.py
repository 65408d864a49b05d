"""Linear algebra on dense matrices and vectors: factorizations, least norm, multipliers with bounds."""
