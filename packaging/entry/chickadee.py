"""The packaged window's first lines."""

import sys

from app.__main__ import main

sys.exit(main())
