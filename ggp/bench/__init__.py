"""How fast games start and play: one game (`measure`), or a folder of games, each in a process of its own (`suite`)."""
