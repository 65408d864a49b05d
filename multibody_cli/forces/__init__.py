"""Force elements: their fields in a scene (`spec`), and their arrays and kernels (`elements`)."""
