"""Uses of runs: making a scene ready, benchmarks, and the expectations of a scene."""
