"""Entry point of the packaged engine: `chickadee-engine serve|chat|profile|…`."""

import sys

from engine.tokenization.jinja import RENDER, serve

if sys.argv[1:2] == [RENDER]:  # the engine starts its template process so; import nothing else there
    sys.exit(serve(float(sys.argv[2])))

from engine.__main__ import start

sys.exit(start())
