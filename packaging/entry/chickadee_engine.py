"""The packaged engine's first lines: `chickadee-engine serve|chat|profile|…`."""

import sys

from engine.__main__ import start

sys.exit(start())
