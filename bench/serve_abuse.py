"""Crowds of silent and slow clients, then two minutes of good, broken, oversized and slow requests against
`atomlearn serve`, on loopback.

The first part measures how long `/healthz` takes while each crowd is connected, with the server's usual limits, and
fails beyond a second. The second counts answers by kind and status, and the server's memory and open files before,
during and after. It fails if the server ends, if an answer is neither 200 nor a 4xx or 503 with a JSON reason, or if
memory or files keep growing. Needs the program in release mode and nothing else:

    cargo build --release && python bench/serve_abuse.py [--seconds 120] [--program FILE]
"""

import argparse
import collections
import json
import random
import resource
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "target" / "release" / "atomlearn"
JSON, NPY = "application/json", "application/x-npy"
ALLOWED = {200, 400, 403, 404, 405, 408, 413, 415, 431, 503}


def npy(rows):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".ljust(117) + "\n"
    values = [value for row in rows for value in row]
    return (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}d", *values)
    )


def request(body, kind=JSON, method="POST", path="/predict", length=None, host="localhost"):
    length = len(body) if length is None else length
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


def good(rng):
    rows = [[float(rng.randrange(17)) for _ in range(64)] for _ in range(rng.choice([1, 1, 1, 3, 40]))]
    path = rng.choice(["/predict", "/predict", "/explain"])
    return request(npy(rows), NPY, path=path) if rng.random() < 0.5 else request(json.dumps(rows).encode(), path=path)


def broken(rng):
    whole = good(rng)
    cut = rng.randrange(len(whole))
    return rng.choice(
        [
            lambda: request(b"[[1,2,3]]"),
            lambda: request(b"[" * 100_000),
            lambda: request(b"[" + b"[]," * 100_000 + b"[]]"),
            lambda: request(b'{"rows": "' + b"x" * 50_000 + b'"}'),
            lambda: request(rng.randbytes(rng.randrange(1, 5000))),
            lambda: request(rng.randbytes(rng.randrange(1, 5000)), NPY),
            lambda: request(npy([[float("nan")] * 64]), NPY),
            lambda: request(npy([[1.0] * 64]).replace(b"(1, 64)", b"(9999999, 64)"), NPY),
            lambda: request(b"[[1]]", "text/plain"),
            lambda: request(b"[[1]]", path="/" + "x" * rng.randrange(3000)),
            lambda: request(b"[[1]]", method="DELETE"),
            lambda: request(b"[[1]]", host="evil.example"),
            lambda: whole[: cut // 2] + rng.randbytes(8) + whole[cut // 2 + 8 :],
            lambda: rng.randbytes(rng.randrange(1, 2000)) + b"\r\n\r\n",
            lambda: b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n",
            lambda: b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        ]
    )()


def oversized(rng):
    if rng.random() < 0.5:
        return request(b" " * (9 << 20))
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head.encode() + b"".join(b"10000\r\n" + b" " * 65536 + b"\r\n" for _ in range(150)) + b"0\r\n\r\n"


class Abuse:
    def __init__(self, port, end):
        self.port, self.end = port, end
        self.answers, self.problems = collections.Counter(), []

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def read(self, connection, kind):
        """Reads one answer and judges it."""
        data = b""
        try:
            while b"\r\n\r\n" not in data:
                part = connection.recv(65536)
                if not part:
                    self.answers[kind, "closed"] += 1
                    return False
                data += part
            head, _, body = data.partition(b"\r\n\r\n")
            status = int(head[9:12])
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            while len(body) < length:
                part = connection.recv(65536)
                if not part:
                    break
                body += part
        except OSError as error:
            self.answers[kind, type(error).__name__] += 1
            return False
        body = body[:length]  # a broken length makes two requests of one, and two answers
        self.answers[kind, status] += 1
        # The HTTP library itself answers what is no HTTP (400) and heads that are too long (431), without a body.
        reasoned = status == 200 or (status in (400, 431) and not body) or "error" in json.loads(body)
        if status not in ALLOWED or not reasoned or (kind == "good" and status not in (200, 503)):
            self.problems.append(f"{kind}: {status} {body[:200]!r}")
        return b"connection: close" not in head.lower()

    def send(self, kind, make, seed):
        rng = random.Random(seed)
        connection = None
        while time.monotonic() < self.end:
            try:
                connection = connection or self.connect()
                connection.sendall(make(rng))
                keep = self.read(connection, kind)
            except OSError as error:
                self.answers[kind, type(error).__name__] += 1
                keep = False
            if not keep or kind != "good":
                if connection:
                    connection.close()
                connection = None

    def drip(self, seed):
        """Heads and bodies byte by byte, answers that are never read, connections that are dropped midway."""
        rng = random.Random(seed)
        while time.monotonic() < self.end:
            try:
                connection = self.connect()
                text = good(rng)
                way = rng.randrange(4)
                if way == 0:
                    for i in range(rng.randrange(1, 40)):
                        connection.sendall(text[i : i + 1])
                        time.sleep(0.1)
                elif way == 1:
                    head, body = text.split(b"\r\n\r\n", 1)
                    connection.sendall(head + b"\r\n\r\n")
                    for i in range(rng.randrange(1, 60)):
                        connection.sendall(body[i : i + 1])
                        time.sleep(0.1)
                elif way == 2:
                    for _ in range(2000):
                        connection.sendall(text)
                else:
                    connection.sendall(text[: rng.randrange(len(text))])
                connection.close()
                self.answers["slow", "done"] += 1
            except OSError as error:
                self.answers["slow", type(error).__name__] += 1


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW_BODY = request(b"[", length=1_000_000)
CROWDS = [
    ("nobody else", 0, b""),
    ("silent", 300, b""),
    ("half a head", 300, HEALTH[:-2] + b"X: "),
    ("slow bodies", 256, SLOW_BODY),
    ("idle", 2000, b""),
    ("idle after an answer", 2000, HEALTH),
    ("slow bodies", 2000, SLOW_BODY),
]


def crowd(port, size, text):
    """So many connections that each say the same and then nothing."""
    held = []
    for _ in range(size):
        connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        held.append(connection)
        try:
            connection.sendall(text)
        except OSError:
            pass  # had to leave already
    return held


def first_line(port, text, half_close=False):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        return connection.recv(65536).partition(b"\r\n")[0]


def pressure(program):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    server, port = start(program)
    row = json.dumps([[0.0] * 64]).encode()
    try:
        answered = sum(b" 200 " in first_line(port, request(row), half_close=True) for _ in range(20))
        print(f"requests whose sending side is closed: {answered} of 20 answered")
        assert answered == 20
        for size in (60_000, 100_000):
            line = first_line(port, HEALTH[:-2] + b"X: " + b"y" * size + b"\r\n\r\n")
            print(f"a head of {size} bytes: {line.decode()}")
            assert (b" 431 " in line) == (size > 65536)
        print(f"{'crowd':22} {'size':>5} {'slowest of 20 /healthz, ms':>27} {'files':>6} {'MiB':>6}")
        for what, size, text in CROWDS:
            held, times = crowd(port, size, text), []
            for _ in range(20):
                begin = time.monotonic()
                assert b" 200 " in first_line(port, HEALTH), what
                times.append(time.monotonic() - begin)
            memory, files = state(server.pid)
            print(f"{what:22} {size:5} {1000 * max(times):27.1f} {files:6} {memory:6.0f}", flush=True)
            assert max(times) < 1, what
            for connection in held:
                connection.close()
    finally:
        server.terminate()
        server.wait()


def start(program, *flags):
    """The server and its port."""
    command = [program, "--quiet", "serve", "--demo", "--port", "0", *flags]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])


def state(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    rss = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return rss / 1024, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    args = parser.parse_args()
    pressure(args.program)
    if args.seconds > 0:
        mixture(args.program, args.seconds)
    print("passed")


def mixture(program, seconds):
    server, port = start(program, "--header-time", "2", "--request-time", "3")
    try:
        print("start: {:.1f} MiB, {} files".format(*state(server.pid)))
        begin = time.monotonic()
        abuse = Abuse(port, begin + seconds)
        work = [("good", good)] * 4 + [("broken", broken)] * 4 + [("oversized", oversized)] * 2
        threads = [threading.Thread(target=abuse.send, args=(*item, i)) for i, item in enumerate(work)]
        threads += [threading.Thread(target=abuse.drip, args=(100 + i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        seen = []
        while time.monotonic() < begin + seconds and server.poll() is None:
            time.sleep(min(10, seconds / 6))
            seen.append(state(server.pid))
            print("{:5.0f} s: {:.1f} MiB, {} files".format(time.monotonic() - begin, *seen[-1]), flush=True)
        for thread in threads:
            thread.join()
        time.sleep(5)
        assert server.poll() is None, f"the server ended with {server.returncode}"
        last = state(server.pid)
        print("end:   {:.1f} MiB, {} files".format(*last))
        for (kind, answer), count in sorted(abuse.answers.items(), key=str):
            print(f"{kind:10} {answer!s:22} {count}")
        assert not abuse.problems, abuse.problems[:5]
        half = [memory for memory, _ in seen[len(seen) // 2 :]]
        assert last[0] <= max(memory for memory, _ in seen[: len(seen) // 2]) * 1.2, f"memory grows: {half}"
        assert last[1] <= 30, f"{last[1]} files stay open"
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
