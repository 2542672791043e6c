"""``python -m bursar`` is the command ``bursar``."""

from bursar.cli import main

main()
