"""Imported by Python at its start where this folder is on the path: a machine whose network is cut.

Whoever looks up a name or connects to another machine is refused, and noted in the file that
OFFLINE_NOTES names.
"""

import ipaddress
import os
import sys


def _is_here(host: object) -> bool:
    if host is None or host in ("", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not _is_here(host):
        with open(os.environ["OFFLINE_NOTES"], "a", encoding="utf-8") as notes:
            notes.write(f"{event} {host}\n")
        raise OSError("the network is cut")


sys.addaudithook(_refuse)
