"""The web service: matches, games and tournaments in a browser."""
