"""Monte-Carlo tree search on the circuit.

In reading order: `settings` · `tree` (the arrays: tree, batch of descents, parameters) · `selection` (down to a leaf)
· `backup` (visits, values and proven bounds go up again) · `expansion` (leaves become nodes) · `solver` (exact values,
worked out in parallel) · `result` (what a tree says of its root) · `search` (the front door: workers, and the loop that
they run) · `tuning` (settings that suit a game).
"""
