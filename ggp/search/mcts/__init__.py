"""Monte-Carlo tree search on the circuit."""
