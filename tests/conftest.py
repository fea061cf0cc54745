"""Settings of the whole suite."""

import os

from hypothesis import settings

# The same examples in every run, and no deadlines: a suite that fails by chance is not believed. To look for new ones:
# HYPOTHESIS_PROFILE=explore pytest tests/test_differential.py
settings.register_profile("fixed", max_examples=300, derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=3_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
