"""How fast games start and play: one game, or a folder of games."""
