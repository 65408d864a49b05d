"""Python interface: scenes, simulations that are advanced step by step, equations of motion, datasets."""
