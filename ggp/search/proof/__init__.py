"""Depth-first proof-number search, many walks side by side: can a role be sure of so much?

Each question is whether the first of two roles gets at least some goal value, whatever the other does. Nodes carry
proof and disproof numbers (Allis, van der Meulen and van den Herik 1994), walks go down while these stay below
thresholds (df-pn: Nagai 2002) that leave some room (Pawlewicz and Lew 2007), and a state on which walks are under way
counts as harder by one for each of them (Kaneko 2010), so that they spread. All states that the walks wait for are
worked out in batches of 512. States are kept in a table of fixed size, in buckets of four; what took least work makes
room.
"""
