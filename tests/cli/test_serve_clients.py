"""Clients of `cohort serve` that are many, slow, gone or talk nonsense.

COHORT=build/cohort python3 tests/cli/test_serve_clients.py
"""

import json
import pathlib
import socket
import tempfile
import threading
import time
import unittest

from chain_model import make_chain_model
from serve_case import Server


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-serve-")
        cls.addClassCleanup(folder.cleanup)
        cls.server = Server(make_chain_model(pathlib.Path(folder.name) / "chain"))
        cls.addClassCleanup(cls.server.__exit__)

    def must_post(self, path, body):
        status, answer = self.server.post(path, body)
        self.assertEqual(status, 200, answer)
        return answer

    def raw(self, data):
        client = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        client.sendall(data)
        return client

    def read_all(self, client):
        with client:
            data = b""
            while part := client.recv(65536):
                data += part
            return data.decode()

    def running(self):
        text = self.server.request("GET", "/metrics")[1]
        return int(text.split("cohort_requests_running ")[-1].split("\n")[0])

    def endless(self):
        body = json.dumps(
            {"messages": [{"role": "user", "content": "forever"}], "stream": True, "max_tokens": 1500}
        )
        return self.raw(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    def test_a_request_ends_when_its_client_goes(self):
        client = self.endless()
        self.assertTrue(client.recv(64))
        self.assertEqual(self.running(), 1)
        client.close()
        deadline = time.monotonic() + 30
        while self.running() > 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_what_is_no_http(self):
        self.assertIn("400 Bad Request", self.read_all(self.raw(b"nonsense\r\n\r\n")))
        huge = b"GET /health HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n"
        self.assertIn("431", self.read_all(self.raw(huge)))
        large = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"
        self.assertIn("413", self.read_all(self.raw(large)))
        for body in (b"", b"{", b"\xff", b"[" * 9000, b'{"a": NaN}'):
            head = (
                f"POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            self.assertIn("400 Bad Request", self.read_all(self.raw(head.encode() + body)))

    def test_one_connection_for_many_requests_sent_at_once(self):
        client = self.raw(
            b"GET /health HTTP/1.1\r\n\r\n" * 20 + b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        self.assertEqual(self.read_all(client).count("200 OK"), 21)

    def test_idle_and_half_sent_connections_hinder_nobody(self):
        idle = [self.raw(b"") for _ in range(300)] + [self.raw(b"POST /v1/comp") for _ in range(300)]
        answer = self.must_post("/v1/completions", {"prompt": "[plain]"})
        self.assertEqual(answer["choices"][0]["text"], "Hello, world!")
        for client in idle:
            client.close()

    def test_many_clients_at_once_get_their_own_answers(self):
        failures = []

        def ask(prompt, text):
            for _ in range(5):
                answer = self.must_post("/v1/completions", {"prompt": prompt})
                if answer["choices"][0]["text"] != text:
                    failures.append(answer)

        threads = [
            threading.Thread(target=ask, args=pair)
            for pair in [("[plain]", "Hello, world!"), ("[answer]", "The sum is 5.")] * 16
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
