"""Entry point of the packaged window."""

import sys

from app.__main__ import main

sys.exit(main())
