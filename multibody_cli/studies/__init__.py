"""More than a time loop: making a scene ready, benchmarks, and what a scene expects of its run."""
