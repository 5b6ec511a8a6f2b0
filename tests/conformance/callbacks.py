# SPDX-License-Identifier: Apache-2.0
"""An HTTPS server that the API server calls: webhooks, aggregated APIs.

A test says what a path answers and looks at what was asked afterwards:

    callbacks.answer("/deny", lambda request: (200, review(False)))
    ...
    callbacks.calls("/deny")
"""

import base64
import http.server
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import types
import urllib.parse

ADMISSION = "admissionregistration.k8s.io/v1"
LABEL = "kubernetes.io/metadata.name"
# The server's certificate is for this service too.
SERVICE = "conformance-callbacks"
SERVICE_NAMESPACE = "default"


class Request:
    """What came."""

    def __init__(self, handler, body):
        url = urllib.parse.urlsplit(handler.path)
        self.method = handler.command
        self.path = url.path
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.headers = handler.headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing: the tests look at the calls."""

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(self, self.rfile.read(length))
        code, answer = self.server.callbacks.handle(request)
        kind = "application/json"
        if isinstance(answer, types.GeneratorType):
            self.stream(code, answer)
            return
        if isinstance(answer, str):
            data, kind = answer.encode(), "text/plain"
        else:
            data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, code, lines):
        """Sends each line when it is there."""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            data = json.dumps(line).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, callbacks):
        super().__init__(address, Handler)
        self.callbacks = callbacks

    def finish_request(self, request, client_address):
        """The handshake belongs to the connection's own thread."""
        try:
            tls = self.callbacks.context.wrap_socket(request,
                                                     server_side=True)
        except (ssl.SSLError, OSError):
            return
        super().finish_request(tls, client_address)

    def handle_error(self, request, client_address):
        """A client that goes away is no news."""


class Callbacks:
    def __init__(self, address):
        self.address = address
        self.directory = tempfile.mkdtemp(prefix="ferry-callbacks-")
        self.ca = self._certificate()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self._file("crt"), self._file("key"))
        self.lock = threading.Lock()
        self.reset()
        self.server = Server(("", 0), self)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()

    def _file(self, suffix):
        return os.path.join(self.directory, "server." + suffix)

    def _certificate(self):
        """Its own issuer; for the address, and for any service."""
        names = f"IP:{self.address},DNS:{SERVICE}.{SERVICE_NAMESPACE}.svc"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=conformance", "-addext",
             f"subjectAltName={names}", "-keyout", self._file("key"),
             "-out", self._file("crt")],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(self._file("crt"), "rb") as file:
            return base64.b64encode(file.read()).decode()

    def reset(self):
        """Forgets calls and answers."""
        with self.lock:
            self.seen = []
            self.answers = {"/allow": lambda request: (200, review(request))}

    def answer(self, path, function):
        """function(request) gives a code, and JSON, text, or a generator.

        What a generator yields is sent piece by piece.
        """
        with self.lock:
            self.answers[path] = function

    def calls(self, path=None):
        with self.lock:
            return [r for r in self.seen if path in (None, r.path)]

    def handle(self, request):
        with self.lock:
            self.seen.append(request)
            best = max((p for p in self.answers
                        if request.path == p or
                        request.path.startswith(p.rstrip("/") + "/")),
                       key=len, default=None)
            function = self.answers.get(best)
        return function(request) if function else (404, "no such path")

    def hook(self, name, namespace, path="/allow", resources=("configmaps",),
             operations=("CREATE",), timeout=10, **more):
        """A webhook for what happens in one namespace."""
        rule = {"operations": list(operations), "apiGroups": ["*"],
                "apiVersions": ["*"], "resources": list(resources)}
        return {"name": f"{name}.conformance.ferry.io",
                "rules": [rule],
                "clientConfig": {
                    "url": f"https://{self.address}:{self.port}{path}",
                    "caBundle": self.ca},
                "namespaceSelector": {"matchLabels": {LABEL: namespace}},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": timeout, **more}

    @staticmethod
    def configuration(kind, name, *hooks):
        return {"apiVersion": ADMISSION, "kind": kind,
                "metadata": {"name": name}, "webhooks": list(hooks)}

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        shutil.rmtree(self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def review(request, allowed=True, patch=None, **more):
    """The answer to an AdmissionReview."""
    response = {"uid": request.json()["request"]["uid"], "allowed": allowed,
                **more}
    if patch is not None:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(
            json.dumps(patch).encode()).decode()
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": response}
