"""Grounding: a program → its rules without variables."""

from ggp.grounding.gringo import Budget
from ggp.grounding.grounder import ground
from ggp.grounding.rules import NEVER, GroundRules, Ids, Offsets, Report

__all__ = ["NEVER", "Budget", "GroundRules", "Ids", "Offsets", "Report", "ground"]
