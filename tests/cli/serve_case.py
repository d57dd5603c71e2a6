"""A running `cohort serve` for tests, and ways to talk to it."""

import http.client
import json
import re
import signal
import subprocess
import threading

from cli_case import PROGRAM


class Server:
    """`cohort serve` on a free port of loopback. A context manager; the program must end with code 0."""

    def __init__(self, model, *options, env=None):
        command = [PROGRAM, "serve", "--model", model, "--port", "0", "--threads", "1", *options]
        self.process = subprocess.Popen(
            list(map(str, command)), stderr=subprocess.PIPE, text=True, encoding="utf-8", env=env
        )
        self.log = []
        while True:
            line = self.process.stderr.readline()
            self.log.append(line)
            found = re.search(r"at http://127\.0\.0\.1:(\d+)/v1", line)
            if found:
                break
            if not line:
                raise AssertionError("cohort serve ended: " + "".join(self.log))
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self._reader.join()
        self.process.stderr.close()
        assert code == 0, f"exit code {code}: {''.join(self.log)}"

    def request(self, method, path, body=None, headers=None):
        """Status and parsed body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body), headers=headers or {}
            )
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = answer.headers["content-type"] == "application/json"
            return answer.status, json.loads(text) if is_json else text
        finally:
            connection.close()

    def post(self, path, body, **options):
        return self.request("POST", path, body, **options)

    def events(self, path, body):
        """The data of the server-sent events that answer a request."""
        status, text = self.post(path, body | {"stream": True})
        assert status == 200, text
        return [
            json.loads(line[6:])
            for line in text.split("\n")
            if line.startswith("data: ") and line != "data: [DONE]"
        ]
