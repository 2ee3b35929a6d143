"""Stands in for diskcache, which llama-cpp-python imports for a cache that the engine does not use.

diskcache reads pickles, so whoever can write to its folder runs code (CVE-2025-69872). It is not packed.
"""

import sys
from types import ModuleType

sys.modules["diskcache"] = ModuleType("diskcache")
