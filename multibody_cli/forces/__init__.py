"""Everything that pushes: what a scene may write of it (`spec`), and the arrays and kernels of it (`elements`)."""
