/** What the page for integrators shows in Python: version 3.9 or later, and nothing to install. */
import type { Route } from './routes.ts';

/** Reads nodes, runs a script on them and prints what each of them said. */
export function fleetPy(route: Route): string {
  return `import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

URL = os.environ.get("EDGE_URL", "http://127.0.0.1:44000")


def call(method, path, body=None, **query):
    """What the service answers; a refusal ends the program with its words."""
    headers = {"Authorization": "Bearer " + os.environ["EDGE_API_KEY"]}
    if body is not None:
        headers["Content-Type"] = "application/json"
        headers["Idempotency-Key"] = str(uuid.uuid4())
    request = urllib.request.Request(
        URL + path + ("?" + urllib.parse.urlencode(query) if query else ""),
        method=method,
        headers=headers,
        data=None if body is None else json.dumps(body).encode(),
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as failure:
        error = json.load(failure)["error"]
        sys.exit(f"{error['code']}: {error['message']} {json.dumps(error['details'])}")


nodes = call("GET", "${route('list_nodes')}", status__in="healthy", page_size=100)
names = {node["id"]: node["name"] for node in nodes}
print(f"healthy: {len(nodes)}")

command = call("POST", "${route('create_command')}", {
    "command_text": "echo hello from $(uname -s)",
    "targeting": {"type": "nodes", "node_ids": list(names)},
    "timeout": 60_000,
})
while command["summary"]["pending"] + command["summary"]["sent"] > 0:
    time.sleep(0.5)
    command = call("GET", f"${route('get_command').replace('{id}', "{command['id']}")}")

executions = call("GET", "${route('list_command_executions')}", command_id__in=command["id"], page_size=100)
for execution in executions:
    output = (execution["output"] or "").rstrip()
    print(f"{names[execution['node_id']]}: {output} (exit {execution['exit_code']})")
`;
}

/** Receives deliveries of a webhook. */
export const RECEIVER_PY = `import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"]
# The key of a secret that begins with whsec_ is the base64 behind it, that of any other one its bytes.
KEY = base64.b64decode(SECRET[6:] + "==") if SECRET.startswith("whsec_") else SECRET.encode()
AGE_SECONDS_MAX = 300


def is_signed(headers, body):
    """Whether this is a delivery of the service, and no older one that somebody sends again."""
    sent = headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > AGE_SECONDS_MAX:
        return False
    signed = f"{headers.get('webhook-id', '')}.{sent}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    return any(hmac.compare_digest(expected.encode(), given.encode()) for given in headers.get("webhook-signature", "").split())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        signed = is_signed(self.headers, body)
        self.send_response(204 if signed else 401)
        self.end_headers()
        if signed:
            event = json.loads(body)
            print(event["type"], event["id"], flush=True)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
`;
