"""Results → how strong the players are and how sure that is; pure functions on arrays.

In reading order: `entries` (results as arrays, values with intervals), `bradley_terry` (strengths of
players, advantages of roles, Bayesian ratings), `sprt` (the sequential test of two players).
"""

from gamemaster.tournament.ratings.bradley_terry import (
    BayesianRating,
    RatingPoint,
    Ratings,
    Role,
    RoleRatings,
    bayesian_ratings,
    bradley_terry,
    course,
    role_ratings,
)
from gamemaster.tournament.ratings.entries import Comparisons, Entries, comparisons_of, entries_of, mean_goal
from gamemaster.tournament.ratings.sprt import Decision, Sprt, sprt_of
from ggp.elo import Estimate

__all__ = [
    "BayesianRating",
    "Comparisons",
    "Decision",
    "Entries",
    "Estimate",
    "RatingPoint",
    "Ratings",
    "Role",
    "RoleRatings",
    "Sprt",
    "bayesian_ratings",
    "bradley_terry",
    "comparisons_of",
    "course",
    "entries_of",
    "mean_goal",
    "role_ratings",
    "sprt_of",
]
