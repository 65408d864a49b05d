"""Linear algebra on dense matrices and vectors: factorizations, least-norm solutions, bounded multipliers."""
