"""Matches and rates of searches beside each other and beside OpenSpiel; run by hand, not by the tests."""
