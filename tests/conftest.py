from __future__ import annotations

import signal
import threading

from hypothesis import settings

# a background job of a shell without a terminal starts with SIGINT ignored, and its children
# inherit that: tests that send Ctrl-C to a process of their own would wait for ever
if (
    threading.current_thread() is threading.main_thread()  # no other may set it
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the first example pays for compiling; the same examples every time, so that no run is a gamble
settings.register_profile("bursar", deadline=None, derandomize=True)
settings.load_profile("bursar")
