"""Programs that the packaged window starts (a browser, a file manager) find their own libraries, not the bundle's.

Qt and Python are loaded already, and what they load later is found by their own search paths.
"""

import os

BUNDLE_ONLY = "LD_LIBRARY_PATH"

before = os.environ.pop(f"{BUNDLE_ONLY}_ORIG", None)
os.environ.pop(BUNDLE_ONLY, None)
if before is not None:
    os.environ[BUNDLE_ONLY] = before
