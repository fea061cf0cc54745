"""The API, version 1: JSON over HTTP for everything that the pages show and do."""
