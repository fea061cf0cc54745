"""The GGP protocol as values, without input or output.

In reading order: `messages` (what both sides say, and HTTP headers), `evaluation` (what a player thinks, next to its
move), `scramble` (the rules in meaningless words).
"""
