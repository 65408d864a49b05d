"""Papers: their tables and figures as experiments, with published numbers and claims; see `contract.py`."""
