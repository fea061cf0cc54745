"""A player at a URL → what it does well and badly."""
