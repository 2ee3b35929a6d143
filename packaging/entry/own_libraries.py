"""Restores LD_LIBRARY_PATH, so that programs started by the packaged window (a browser) load their own libraries.

Qt and Python are loaded already, and what they load later is found through their own search paths.
"""

import os

BUNDLE_ONLY = "LD_LIBRARY_PATH"

before = os.environ.pop(f"{BUNDLE_ONLY}_ORIG", None)
os.environ.pop(BUNDLE_ONLY, None)
if before is not None:
    os.environ[BUNDLE_ONLY] = before
