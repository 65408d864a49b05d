"""Loops over plain arrays; a slice assignment could allocate if two arrays overlap."""

from __future__ import annotations

from multibody_cli.kernel import formula


@formula
def copy(source, target):
    """Copy one array into another."""
    for i in range(len(target)):
        target[i] = source[i]


@formula
def clear(target):
    """Set every entry to zero."""
    for i in range(len(target)):
        target[i] = 0.0


@formula
def add(target, x):
    """Add x to `target`."""
    for i in range(len(target)):
        target[i] += x[i]


@formula
def add_scaled(target, factor, x):
    """Add `factor` times x to `target`."""
    for i in range(len(target)):
        target[i] += factor * x[i]


@formula
def inner_product(x, y):
    """Return the inner product."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total
