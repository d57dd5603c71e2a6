"""Engines that run in a process of their own, one process for each of their settings."""

import atexit
import json
import subprocess
import tempfile


class EngineProcess:
    """An engine with one setting, for as many jobs as are asked for (bench/engine_side.py is its other end)."""

    def __init__(self, command, environment):
        self.log = tempfile.TemporaryFile("w+")
        pipe = subprocess.PIPE
        command = list(map(str, command))
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.log, text=True, env=environment
        )
        atexit.register(self.stop)

    def speed(self, job):
        """Tokens per second; 0 if the engine failed."""
        try:
            self.process.stdin.write(json.dumps(vars(job)) + "\n")
            self.process.stdin.flush()
            return float(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            self.log.seek(0)
            print("the engine failed:", *self.log.read().strip().splitlines()[-2:], flush=True)
            return 0.0

    def stop(self):
        self.process.kill()
        self.process.wait()


class Processes:
    """The processes of one engine, by their settings; at most `most` live."""

    def __init__(self, start, most=2):
        self.start, self.most, self.living = start, most, {}

    def get(self, settings):
        key = json.dumps(settings)
        if key not in self.living:
            if len(self.living) == self.most:
                self.living.pop(next(iter(self.living))).stop()
            self.living[key] = self.start(settings)
        return self.living[key]
