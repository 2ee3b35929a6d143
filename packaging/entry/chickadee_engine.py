"""The packaged engine's first lines: `chickadee-engine serve|chat|profile|…`."""

import sys

from engine.tokenization.jinja import RENDER, serve

if sys.argv[1:2] == [RENDER]:  # how it starts the process that renders templates, which loads nothing else
    sys.exit(serve(float(sys.argv[2])))

from engine.__main__ import start

sys.exit(start())
