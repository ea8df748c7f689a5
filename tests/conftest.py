"""Settings of the whole suite."""

import os

from hypothesis import settings

# No deadline: how long an example takes on a busy machine decides nothing. In CI the examples are
# the same in every run, so that a change fails for its own faults alone.
settings.register_profile("memhub", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("memhub")
