"""Tournaments: a specification in, matches, ratings and reports out."""
