"""The pages: HTML made from the same values that the API gives.

`pages` (the paths of all pages), `games`, `rendering` (templates and their filters).
"""
