"""A server of the tool `add` that misbehaves in the way that its path names: POST /MODE. GET /MODE/describe gives the schema."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "rewards"))
import local_server  # noqa: E402

INTEGER = {"type": "integer"}
SCHEMA = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds two integers.",
        "parameters": {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": INTEGER, "b": INTEGER},
        },
    },
}
DESCRIPTIONS = {
    "no_json": b"<html>",
    "no_tool": {"tools": []},
    "no_schema": {"tools": [{"name": "add"}]},
    "one": SCHEMA,
    "list": [SCHEMA],
}
REPLIES = {
    "no_json": b"<html>",
    "no_content": {"result": 3},
    "number": {"content": 3},
    "list": [1],
    "empty": b"",
    "error": {"error": "too large"},
    "flood": b'{"content": "' + b"x" * (8 << 20) + b'"}',
}


class ToolHandler(local_server.Handler):
    def do_GET(self):
        mode = self.path.removesuffix("/describe").strip("/")
        self.server.log({"get": self.path, "authorization": self.headers["Authorization"]})
        status = {"status500": 500, "status404": 404}.get(mode, 200)
        self.reply(status, DESCRIPTIONS.get(mode, {"tools": [SCHEMA]}))

    def do_POST(self):
        request, mode = self.read_json(), self.path.strip("/")
        self.server.log({**request, "authorization": self.headers["Authorization"]})
        if mode == "hang":
            time.sleep(600)
        if mode == "trickle":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                self.wfile.write(b"X: y\r\n")
                time.sleep(0.2)
        if mode == "reset":
            self.send_reset()
        elif mode in REPLIES:
            self.reply(200, REPLIES[mode])
        else:
            numbers = request["arguments"]
            status = {"status500": 500, "status404": 404}.get(mode, 200)
            self.reply(status, {"content": str(numbers["a"] + numbers["b"])})


local_server.serve(ToolHandler)
