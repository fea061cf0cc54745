"""The shipped games, each against the prose that describes it."""
