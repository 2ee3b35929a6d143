"""Attached files: read in a process of their own, cut into parts, fitted into the context; may import `services`."""

READ_FILE = "--read-file"  # the option with which a packaged app reads one file
PAGE = "-"  # in place of the file: a web page that was fetched, on stdin
