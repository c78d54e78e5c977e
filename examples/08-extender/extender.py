"""A small scheduler extender: only some nodes have a licence, and the least used licensed node gets the highest score.

Run it with `python3 extender.py [PORT]`. It implements kube-scheduler's extender protocol, as in
k8s.io/kube-scheduler/extender/v1, so kube-scheduler can use it as well.
"""

import json
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LICENSED = {"m5-ondemand-0", "m5-ondemand-1"}
taken: Counter[str] = Counter()


def filter_(names: list[str]) -> dict[str, object]:
    """Keep licensed nodes, and give a reason for each other node."""
    refused = {name: "no licence for this node" for name in names if name not in LICENSED}
    return {"NodeNames": [name for name in names if name in LICENSED], "FailedNodes": refused}


def prioritize(names: list[str]) -> list[dict[str, object]]:
    """Give score 10 to the node that has received this score least often, and 0 to the other nodes."""
    best = min(names, key=lambda name: taken[name])
    taken[best] += 1
    return [{"Host": name, "Score": 10 if name == best else 0} for name in names]


class Handler(BaseHTTPRequestHandler):
    """The HTTP handler of POST /filter and POST /prioritize."""

    def do_POST(self) -> None:
        """Answer one call."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"/filter": filter_, "/prioritize": prioritize}[self.path](question["NodeNames"])
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8888
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
