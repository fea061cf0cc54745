"""The pages: HTML made from the same values that the API gives."""
