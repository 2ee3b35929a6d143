"""The packaged engine's first lines: `chickadee-engine serve|chat|profile|…`."""

import sys

from engine.words.jinja import RENDER, serve

if sys.argv[1:2] == [RENDER]:  # how it starts the process that renders templates, which loads nothing else
    sys.exit(serve(float(sys.argv[2])))

from engine.__main__ import main
from engine.huge_pages import start_with_huge_pages

start_with_huge_pages()
sys.exit(main())
