"""Files that go along with a message: read in a process of their own, cut into parts, fitted into the context.

Knows no Qt but in `reader`, which runs that process.
"""

READ_FILE = "--read-file"  # what a packaged app is started with to read one file
