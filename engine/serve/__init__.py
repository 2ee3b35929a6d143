"""Serve: the engine as a process, which ends with its input. Imports every room of `engine` but `commands`.

`process` is the program, `server` reads requests and answers them, `jobs` are its two queues: one runs requests, the
other counts tokens beside it.
"""
