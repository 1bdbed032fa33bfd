"""Replicas behind nginx, as deploy/nginx.conf has them: one is killed, and its visitors go on at the other.

    python tests/benchmarks/replicas.py [--visitors 6] [--ports 8521 8522 8523]

They come back with their address alone and must see the same pictures, byte for byte; whoever was at the other replica
must not notice. When the first one is back, they are with it again. The ports are the two replicas' and nginx's.
"""

import argparse
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from http.cookies import SimpleCookie
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from socket_visitor import Visitor, answers, server, stop  # noqa: E402

CONFIG = ROOT / "deploy" / "nginx.conf"
SHIPPED = (8521, 8522, 8523)
SENTENCES = ("The cat sat on the mat.", "A dog ran home.", "小兔子住在森林里。")


class Guest(Visitor):
    """A visitor who keeps the cookie of nginx, as a browser does."""

    def connect(self, url: str | None = None) -> None:
        super().connect(url)
        if said := self.answer_headers.get("Set-Cookie"):
            self._headers = {"Cookie": f"viz_visitor={SimpleCookie(said)['viz_visitor'].value}"}

    def port(self, url: str, log: Path) -> int:
        """That of the replica which answers this visitor; of several that were tried it is the last one."""
        with urllib.request.urlopen(urllib.request.Request(f"{url}/_stcore/health", headers=self._headers)) as answer:
            answer.read()
        time.sleep(0.2)  # until nginx has written of it
        return int(log.read_text(errors="replace").rstrip().rpartition(":")[2])


@contextlib.contextmanager
def proxy(ports: Sequence[int]) -> Iterator[tuple[str, Path]]:
    """nginx with the file of the repository, at other ports: its address and its log."""
    with tempfile.TemporaryDirectory() as folder:
        text = CONFIG.read_text(encoding="utf-8").replace("/run/viz-model-nginx.pid", f"{folder}/nginx.pid")
        for shipped, port in zip(SHIPPED, ports, strict=True):
            text = text.replace(f":{shipped}", f":{port}")
        config = Path(folder) / "nginx.conf"
        config.write_text(text, encoding="utf-8")
        with (Path(folder) / "log").open("wb") as log:
            command = ["nginx", "-c", str(config), "-g", "daemon off;"]
            running = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                url = f"http://127.0.0.1:{ports[2]}"
                until = time.monotonic() + 20
                while not answers(f"{url}/_stcore/health"):
                    if time.monotonic() > until or running.poll() is not None:
                        raise RuntimeError((Path(folder) / "log").read_text(errors="replace"))
                    time.sleep(0.1)
                yield url, Path(folder) / "log"
            finally:
                stop(running)


def main() -> int:
    parse = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parse.add_argument("--visitors", type=int, default=6)
    parse.add_argument("--ports", type=int, nargs=3, default=SHIPPED)
    told = parse.parse_args()
    if shutil.which("nginx") is None:
        print("no nginx on the PATH")
        return 2
    problems = trial(told.visitors, told.ports)
    for problem in problems:
        print("WRONG:", problem)
    return bool(problems)


def trial(count: int, ports: Sequence[int]) -> list[str]:
    problems: list[str] = []
    secret = {"STREAMLIT_SERVER_COOKIE_SECRET": os.urandom(16).hex()}
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        stack.callback(first.close)
        _, pid = first.enter_context(server("serve.py", ports[0], environment=secret))
        stack.enter_context(server("serve.py", ports[1], environment=secret))
        url, log = stack.enter_context(proxy(ports))
        guests: list[Guest] = []
        there: dict[int, list[Guest]] = {port: [] for port in ports[:2]}
        # As many as were asked for, and more while chance has sent all of them to one replica.
        for i in itertools.takewhile(lambda n: n < count or (not all(there.values()) and n < 30), itertools.count()):
            text = f"{SENTENCES[i % len(SENTENCES)]} {i}"
            guest = Guest(url, ("attention", "block")[i % 2], {"text": text, "lang": ("en", "zh")[i % 2]})
            stack.enter_context(guest)
            guest.open()
            guest.type(f"{text} {text}")
            guests.append(guest)
            there[guest.port(url, log)].append(guest)
        first_port, second_port = there
        print("visitors by replica:", {port: len(found) for port, found in there.items()})
        if not there[first_port] or not there[second_port]:
            problems.append("one replica has no visitors")
        before = {id(guest): (guest.text, guest.language, guest.digest()) for guest in guests}
        os.kill(pid, signal.SIGKILL)
        for guest in there[first_port]:
            began = time.perf_counter()
            with contextlib.suppress(Exception):
                guest.type("never read")  # the connection is gone
                problems.append("a killed replica answered")
            guest.connect()
            guest.open()
            now = guest.port(url, log)
            print(f"moved to {now} within {time.perf_counter() - began:.1f} s, at {guest.text!r}")
            if now != second_port or (guest.text, guest.language, guest.digest()) != before[id(guest)]:
                problems.append(f"{guest.text!r}: not what stood there before")
        for guest in there[second_port]:
            if guest.type("Still here") and guest.text != "Still here":
                problems.append("a visitor of the other replica noticed")
        first.close()
        stack.enter_context(server("serve.py", ports[0], environment=secret))
        time.sleep(6)  # fail_timeout
        for guest in there[first_port]:
            guest.close()
            # A browser asks for the page first. A connection would not do: until one ends, nginx takes the replica that
            # it tried with it for one that is not back yet.
            guest.port(url, log)
            guest.connect()
            guest.open()
            if guest.port(url, log) != first_port or (guest.text, guest.language, guest.digest()) != before[id(guest)]:
                problems.append(f"{guest.text!r}: not at the replica that is back, or not what stood there before")
        new = [stack.enter_context(Guest(url, "", {"text": SENTENCES[0]})) for _ in range(4 * count)]
        found = sorted(guest.port(url, log) for guest in new)
        print("newcomers by replica:", found)
        if set(found) != set(ports[:2]):
            problems.append("newcomers come to one replica alone")
        problems += [error for guest in guests for error in guest.errors]
    return problems


if __name__ == "__main__":
    sys.exit(main())
