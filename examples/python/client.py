"""A client in Python, standard library only: a turn pauses, a person approves, the result comes back."""
import json, os, time, urllib.error, urllib.request

URL, TOKEN = os.environ["CONTINUATIONS_URL"], os.environ["CONTINUATIONS_TOKEN"]


def call(method, path, body=None):
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as problem:
        return json.load(problem)


created = call("POST", "/v1/continuations", {
    "assistantId": "support",
    "originTurnId": f"turn-{time.time_ns()}",
    "harnessResult": {
        "outcome": "awaiting_approval",
        "assistantMessage": {"text": "May I refund order 1042 (49.90 EUR)?"},
        "continuation": {"state": {"approvalId": "refund-1042", "order": "1042"}},
    },
})
record = created["record"]
print("asks:", record["suspension"]["question"])

answer = {
    "suspensionId": record["suspension"]["id"],
    "suspensionDigest": record["suspension"]["digest"],
    "trigger": {"type": "approval_resolution", "approvalId": "refund-1042", "decision": "approved"},
}
path = f"/v1/continuations/{record['id']}/answers"
done = call("POST", f"{path}?until=finished&timeoutMs=60000", answer)
print(f"{done['record']['status']}:", done["harnessResult"]["assistantMessage"]["text"])

late = call("POST", path, {**answer, "messageId": "another", "trigger": {**answer["trigger"], "decision": "denied"}})
print(f"again: {late['code']}, it was {late['winner']['subject']} who {late['winner']['decision']}")
