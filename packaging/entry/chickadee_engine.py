"""The packaged engine's first lines: `chickadee-engine serve|chat|profile|…`."""

import sys

from engine.__main__ import main
from engine.huge_pages import start_with_huge_pages

start_with_huge_pages()
sys.exit(main())
