"""Stands between a client and a server and writes down every line of both: `recorder.py FILE-PREFIX COMMAND…`.

One file per server process, each line `> ` (from the client) or `< ` (from the server) and the frame as it was. The
file is locked until nothing more is written.
"""

import fcntl
import os
import subprocess
import sys
import threading

prefix, *command = sys.argv[1:]
lock = threading.Lock()


def pump(source, target, mark, log):
    for line in iter(source.readline, b""):
        with lock:  # written down before it is passed on, so that an answer never stands above its question
            log.write(mark + line)
            log.flush()
        try:
            target.write(line)
            target.flush()
        except BrokenPipeError:
            break
    target.close()


with open(f"{prefix}-{os.getpid()}.frames", "wb") as log:
    fcntl.flock(log, fcntl.LOCK_EX)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    forward = threading.Thread(target=pump, args=(sys.stdin.buffer, server.stdin, b"> ", log), daemon=True)
    forward.start()
    pump(server.stdout, sys.stdout.buffer, b"< ", log)
    status = server.wait()
os._exit(status if status >= 0 else 128 - status)  # the other thread may still wait for the client
