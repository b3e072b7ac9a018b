"""Lets a server speak only the newer era: `modern_only.py COMMAND…` answers handshakes itself, with a refusal.

The official SDKs have no server of that kind yet; all of theirs know both eras.
"""

import json
import subprocess
import sys
import threading

UNSUPPORTED_VERSION = -32022
lock = threading.Lock()
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def say(line):
    with lock:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def listen():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "initialize":
            data = {"supported": ["2026-07-28"], "requested": message["params"]["protocolVersion"]}
            error = {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n")
        else:
            server.stdin.write(line)
            server.stdin.flush()
    server.stdin.close()


threading.Thread(target=listen, daemon=True).start()
for answer in server.stdout:
    say(answer)
sys.exit(server.wait())
