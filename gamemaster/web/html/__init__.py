"""The pages: HTML for people, made from the same values that the API gives."""
