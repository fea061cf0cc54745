"""Rulesheets as environments for learning: any number of matches at once, on the lanes.

    environments = make_vec("tictactoe", 1024, seed=0)   # n matches
    step = environments.reset()                          # observation, mask, reward, terminated, truncated, mover
    step = environments.step(moves)                      # (n, roles) integers

docs/environments.md has the layouts of the arrays, and the adapters to other libraries.
"""

from ggp.env.vector import SIMULTANEOUS, EnvironmentSettings, StepResult, VectorEnvironment, make_vec
from ggp.simulation.environment_kernels import ONLY

__all__ = ["ONLY", "SIMULTANEOUS", "EnvironmentSettings", "StepResult", "VectorEnvironment", "make_vec"]
