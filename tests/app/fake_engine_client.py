"""The process that the window starts as its engine in tests: a stand-in for a fork of the scripted engine.

The client passes its pipes to the server of `fake_engine.serve_forks`. A fork of that server speaks through them, and
the client ends when the fork ends. The client imports next to nothing: a Python process that imports the protocol takes
ten times as long to start, and every test of the window starts one.
"""

import _socket
import os
import sys


def main() -> None:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    pipes = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    connection.sendmsg([b"pipes"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pipes)])
    for number in range(3):
        os.close(number)  # only the fork holds the pipes now, so they close when it closes them
    code = int(connection.recv(16) or 1)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
