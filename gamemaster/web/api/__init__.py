"""The API, version 1: JSON over HTTP for everything that the pages show and do.

`operations` (one operation, and the services that handlers use), `games`, `matches`, `humans`, `document` (all
operations, and their OpenAPI document).
"""
