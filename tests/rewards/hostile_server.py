"""A reward server that misbehaves in every way that a test names by the path: POST /MODE.

It is fair to a request none of whose completions holds "hostile": "score 17" gets 0.17, in another order than asked.
MODE_once misbehaves to a request the first time only, MODE_all to every request, and "mixed" to one in four by any mode.
"""

import json
import random
import re
import time

import local_server


def score(completion):
    digits = re.search(r"\d+", completion)
    return (int(digits[0]) if digits else len(completion)) % 100 / 100


def rewards(rows):
    return [{"id": row["id"], "score": score(row["completion"])} for row in rows]


MODES = """slow hang reset hang_up truncated chunk_cut negative_chunk garbage flood header_flood status500 busy
status400 redirect redirect_get broken_json empty wrong_id unknown_row duplicate_any missing_any nan_any""".split()


class HostileHandler(local_server.Handler):
    seen = set()
    random = random.Random(1)

    def do_POST(self):
        request = self.read_json()
        mode = self.path.strip("/")
        self.server.log(
            {
                "mode": mode,
                "id": request["id"],
                "key": self.headers["Idempotency-Key"],
                "authorization": self.headers["Authorization"],
                "completions": [row["completion"] for row in request["rows"]],
                "client": self.client_address[1],
            }
        )
        fair = {"id": request["id"], "rewards": rewards(request["rows"])[::-1]}
        is_hostile = mode.endswith("_all") or any("hostile" in row["completion"] for row in request["rows"])
        mode = mode.removesuffix("_all")
        if mode == "mixed":
            with self.server.lock:
                is_hostile = self.random.random() < 0.25
                mode = self.random.choice(MODES)
        if is_hostile and mode.endswith("_once"):
            with self.server.lock:
                is_hostile = request["id"] not in self.seen
                self.seen.add(request["id"])
            mode = mode.removesuffix("_once")
        if is_hostile:
            getattr(self, mode)(request, fair)
        else:
            self.reply(200, fair)

    def fair(self, request, fair):
        self.reply(200, fair)

    # The transport.

    def slow(self, request, fair):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b" ")
            time.sleep(1)

    def hang(self, request, fair):
        self.rfile.read(1)  # until the client leaves

    def reset(self, request, fair):
        self.send_reset()

    def hang_up(self, request, fair):
        self.close_connection = True

    def truncated(self, request, fair):
        body = json.dumps(fair).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 10))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def chunk_cut(self, request, fair):
        body = json.dumps(fair).encode()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.close_connection = True

    def negative_chunk(self, request, fair):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"-1\r\nx\r\n0\r\n\r\n")

    def garbage(self, request, fair):
        self.wfile.write(b"\xff\xfe no HTTP \r\n\r\n" * 10)
        self.close_connection = True

    def flood(self, request, fair):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"100000\r\n" + b"[" * 0x100000 + b"\r\n"
        while True:
            self.wfile.write(piece)

    def header_flood(self, request, fair):
        self.send_response_only(200)
        self.flush_headers()
        while True:
            self.wfile.write(b"X-Flood: " + b"x" * 1000 + b"\r\n")

    # The status.

    def status500(self, request, fair):
        self.reply(500, {"error": "out of memory"})

    def busy(self, request, fair):
        self.reply(503, fair, [("Retry-After", "1")])

    def patience(self, request, fair):
        self.reply(429, fair, [("Retry-After", "3600")])

    def status400(self, request, fair):
        self.reply(400, fair)

    def echo_key(self, request, fair):
        self.reply(401, {"error": "wrong key: " + self.headers["Authorization"]})

    def redirect(self, request, fair):
        self.reply(307, fair, [("Location", f"http://127.0.0.1:{self.server.port}/fair")])

    def redirect_get(self, request, fair):
        self.reply(302, fair, [("Location", "http://127.0.0.1:1/private")])

    # The reply.

    def broken_json(self, request, fair):
        self.reply(200, json.dumps(fair)[:-3].encode())

    def empty(self, request, fair):
        self.reply(200, b"")

    def wrong_id(self, request, fair):
        self.reply(200, {**fair, "id": fair["id"] + "0"})

    def unknown_row(self, request, fair):
        self.reply(200, {**fair, "rewards": [*fair["rewards"], {"id": "99", "score": 1}]})

    def duplicate(self, request, fair):
        self.hostile_rows(request, fair, lambda reward: [reward, {**reward, "score": 1}])

    def missing(self, request, fair):
        self.hostile_rows(request, fair, lambda reward: [])

    def text_score(self, request, fair):
        self.hostile_rows(request, fair, lambda reward: [{**reward, "score": "1"}])

    def nan_score(self, request, fair):
        self.hostile_rows(request, fair, lambda reward: [{**reward, "score": float("nan")}])

    def duplicate_any(self, request, fair):
        self.reply(200, {**fair, "rewards": fair["rewards"] + [{**fair["rewards"][0], "score": 0.995}]})

    def missing_any(self, request, fair):
        self.reply(200, {**fair, "rewards": fair["rewards"][1:]})

    def nan_any(self, request, fair):
        self.reply(
            200, {**fair, "rewards": [{**fair["rewards"][0], "score": float("nan")}, *fair["rewards"][1:]]}
        )

    def leak_key(self, request, fair):
        """The key, spelt such that it is one only to a reader of JSON."""
        key = "".join(f"\\u{ord(c):04x}" for c in self.headers["Authorization"])
        body = json.dumps({**fair, "rewards": [{**r, "detail": "KEY"} for r in fair["rewards"]]})
        self.reply(200, body.replace("KEY", key).encode())

    def hostile_rows(self, request, fair, change):
        hostile = {row["id"] for row in request["rows"] if "hostile" in row["completion"]}
        changed = []
        for reward in fair["rewards"]:
            changed += change(reward) if reward["id"] in hostile else [reward]
        self.reply(200, {**fair, "rewards": changed})


if __name__ == "__main__":
    local_server.serve(HostileHandler)
