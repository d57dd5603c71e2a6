"""A stand-in for the Hub's HTTP interface on loopback, for huggingface_hub's own client."""

import hashlib
import http.server
import json
import pathlib
import re
import threading
import urllib.parse

TOKEN = "hf_right"
API = re.compile(r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+)(?:/(.*))?)?")
FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class Repository:
    """Files by path; `access` is "public", "private" or "gated"."""

    def __init__(self, files, access="public"):
        self.files = {
            path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()
        }
        self.access = access

    @property
    def commit(self):
        parts = b"".join(path.encode() + text for path, text in sorted(self.files.items()))
        return hashlib.sha1(parts).hexdigest()

    def entries(self):
        files = [
            {"type": "file", "path": path, "size": len(text), "oid": hashlib.sha1(text).hexdigest()}
            for path, text in self.files.items()
        ]
        folders = {str(parent) for path in self.files for parent in pathlib.PurePosixPath(path).parents} - {
            "."
        }
        return files + [
            {"type": "directory", "path": path, "size": 0, "oid": "0"} for path in sorted(folders)
        ]

    def tree(self, folder, is_recursive):
        """The entries below a folder; those right in it, if not `is_recursive`."""
        start = f"{folder}/" if folder else ""
        below = [entry for entry in self.entries() if entry["path"].startswith(start)]
        return [entry for entry in below if is_recursive or "/" not in entry["path"].removeprefix(start)]


class Hub:
    """A server on a free port of loopback; `repositories` maps (kind, id) to Repository, `requests` lists paths."""

    def __init__(self):
        self.repositories = {}
        self.requests = []
        self.failure = 0  # a status that all answers have, if not 0
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.hub.requests.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.unquote(self.path.partition("?")[0])
        if self.hub.failure:
            self.answer(self.hub.failure, b"broken")
        elif match := API.fullmatch(path):
            self.api(body, *match.groups())
        elif match := FILE.fullmatch(path):
            self.file(*match.groups())
        else:
            self.answer(404, b"{}")

    do_HEAD = do_POST = do_GET

    def find(self, kind, name, revision):
        """The repository; None after an answer that says why there is none."""
        found = self.hub.repositories.get((kind, name))
        if found is None:
            self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif found.access != "public" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            code = {"private": "RepoNotFound", "gated": "GatedRepo"}[found.access]
            self.answer(401 if code == "RepoNotFound" else 403, b"{}", {"X-Error-Code": code})
        elif revision not in (None, "main", found.commit):
            self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        else:
            return found
        return None

    def api(self, body, kind, name, part, revision, folder):
        found = self.find(kind, name, revision)
        if found is None:
            return
        entries = found.entries()
        if part in (None, "revision"):
            siblings = [{"rfilename": path} for path in found.files]
            result = {"id": name, "sha": found.commit, "private": False, "gated": False, "siblings": siblings}
            result |= {"tags": [], "downloads": 0, "likes": 0}
        elif part == "tree":
            result = found.tree(folder, "recursive=true" in self.path.lower())
            if not result:
                self.answer(404, b"{}", {"X-Error-Code": "EntryNotFound"})
                return
        else:
            wanted = urllib.parse.parse_qs(body.decode()).get("paths", [])
            if self.headers.get("Content-Type", "").startswith("application/json"):
                wanted = json.loads(body)["paths"]
            result = [entry for entry in entries if entry["path"] in wanted]
        self.answer(200, json.dumps(result).encode(), {"Content-Type": "application/json"})

    def file(self, kind, name, revision, path):
        found = self.find("datasets" if kind else "models", name, revision)
        if found is None:
            return
        if path not in found.files:
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        text = found.files[path]
        headers = {"ETag": f'"{hashlib.sha1(text).hexdigest()}"', "X-Repo-Commit": found.commit}
        begin = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if begin:
            first, last = int(begin[1]), int(begin[2] or len(text) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(text)}"
            self.answer(206, text[first : last + 1], headers)
        else:
            self.answer(200, text, headers)

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
