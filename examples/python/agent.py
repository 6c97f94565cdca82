"""An agent service in Python, standard library only: it runs one bounded turn for each POST (docs/http-harness.md)."""
import base64, hashlib, hmac, json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["CONTINUATIONS_AGENT_SECRET"].removeprefix("whsec_"))


def signed(headers, body):
    """Whether our worker sent this (https://www.standardwebhooks.com)."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET, content, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{expected}", one) for one in given)


def run_turn(turn):
    order = turn["continuation"]["continuation"]["state"]["order"]
    trigger = turn["trigger"]
    decision = trigger["message"]["text"] if trigger["type"] == "user_reply" else trigger.get("decision", trigger["type"])
    # Here your agent goes on.
    return {"outcome": "completed", "assistantMessage": {"text": f"Refund of order {order}: {decision}."}}


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not signed(self.headers, body):
            return self.answer(401, {"error": "not signed by us"})
        self.answer(200, run_turn(json.loads(body)))

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8090), Agent)
print(f"Listening on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
