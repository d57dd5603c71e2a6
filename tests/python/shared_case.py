"""Ports for processes that meet, for tests of runs that they share."""

import itertools
import os
import socket

PORTS = itertools.count(12000 + os.getpid() * 41 % 7000)


def free_port():
    while True:
        port = next(PORTS)
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
            except OSError:
                continue
        return port
