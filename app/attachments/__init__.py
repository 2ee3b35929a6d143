"""Files that go along with a message: read in a process of their own, cut into parts, fitted into the context.

Knows no Qt but in `reader`, which runs that process.
"""
