"""The game master: matches between players over HTTP, and their records."""
