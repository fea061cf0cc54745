"""Games with hidden information, chance or simultaneous moves, solved: equilibria, and what beats a given policy.

In reading order: `game_tree` (game → all its histories, as what each role can know and do: the sequence form), `regret`
(sequence form → strategies by counterfactual regret minimisation, and how far they are from an equilibrium), `policy`
(what a role does in each of its information sets, in words and for players) and `solving` (all of it, in slices).
For more histories: `backward_induction` (nothing is hidden: states), `merged_tree` and `merged` (histories that differ
in the order of steps only are one).
"""
