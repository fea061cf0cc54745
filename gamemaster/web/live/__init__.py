"""Matches that go on here: `runner` (runs them), `match` (one of them, as spectators see it), `human` (a human in one),
`external` (humans in matches of other game masters), `feed` (events for spectators).
"""
