"""What the servers of these tests share: a port on this machine, a log of requests, and an end with the test.

A server prints its port, and ends when its standard input does. The standard library alone.
"""

import http.server
import json
import os
import socket
import ssl
import struct
import sys
import threading


class LocalServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler, log_path, certificate=None):
        super().__init__(("127.0.0.1", 0), handler)
        self.lock = threading.Lock()
        self.log_file = open(log_path, "a", encoding="utf-8")
        self.port = self.server_address[1]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{certificate}/certificate.pem", f"{certificate}/key.pem")
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def log(self, entry):
        with self.lock:
            self.log_file.write(json.dumps(entry) + "\n")
            self.log_file.flush()

    def handle_error(self, request, client_address):
        pass  # clients break off connections on purpose


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small pieces leave at once.
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def read_json(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status, body, headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_reset(self):
        """Ends the connection by RST, not by an orderly end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True


def serve(handler):
    """python3 SERVER.py LOG [FOLDER with certificate.pem and key.pem]"""
    server = LocalServer(handler, *sys.argv[1:3])
    print(server.port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)
