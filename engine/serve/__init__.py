"""Serve: the engine as a process, which ends with its input. Imports every room of `engine` but `commands`.

`process` is the program, `server` reads requests and answers them, `jobs` is the queue, `counter` counts tokens beside
it.
"""
