"""Proofs of what a state is worth in games of two opposed roles in turns.

In reading order: `prover` asks questions, `dfpn` answers them by proof-number search and keeps what is known.
"""
