"""The window's own child where tests script the engine: it lets the process that `fake_engine.Forks` keeps ready make a
copy of itself that speaks through this one's pipes, and ends as that copy ends. Imports next to nothing: a Python with
the protocol's modules takes ten times as long to start, and every test of the window starts one."""

import _socket
import os
import sys


def main() -> None:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    pipes = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    connection.sendmsg([b"pipes"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pipes)])
    for number in range(3):
        os.close(number)  # the copy has them now: what it closes is closed
    code = int(connection.recv(16) or 1)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
