"""All measures of experiments.  To add a measure: a file with its `Measure`, an import and an entry here."""

from multibody_cli.studies.papers.measures import (
    code_size,
    corrections,
    cost,
    elimination,
    energy_change,
    expectations,
    history,
    iterations,
    multipliers,
    newton_step,
    point_friction,
)

MEASURES = {
    "code_size": code_size.Measure,
    "corrections": corrections.Measure,
    "cost": cost.Measure,
    "elimination": elimination.Measure,
    "energy_change": energy_change.Measure,
    "expectations": expectations.Measure,
    "history": history.Measure,
    "iterations": iterations.Measure,
    "multipliers": multipliers.Measure,
    "newton_step": newton_step.Measure,
    "point_friction": point_friction.Measure,
}
"""Specs of measures by their type."""
