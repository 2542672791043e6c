from __future__ import annotations

from hypothesis import settings

# the first example pays for compiling; the same examples every time, so that no run is a gamble
settings.register_profile("bursar", deadline=None, derandomize=True)
settings.load_profile("bursar")
