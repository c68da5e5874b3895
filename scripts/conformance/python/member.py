"""One service with py-eureka-client in it: a process of its own, since the client's heartbeats end only with the process.

Reads a command a line from stdin, a JSON list, and answers each with a line of JSON. Started by story.py.
"""

import asyncio
import json
import logging
import os
import sys
import threading

from py_eureka_client import ERROR_DISCOVER, eureka_basic, eureka_client

logging.disable(logging.CRITICAL)


def _seen(application) -> dict:
    return {
        instance.instanceId: {"status": instance.status, "metadata": instance.metadata, "port": instance.port.port} for instance in application.instances
    }


class Errors:
    """What the client reports. Told to hold, it keeps the client's loop at the end of a round that failed until told to go on."""

    def __init__(self):
        self.seen = []
        self.held = False
        self._go_on = threading.Event()
        self._go_on.set()

    def hold(self):
        self._go_on.clear()

    def release(self):
        self._go_on.set()

    def __call__(self, kind: str, error: Exception):
        self.seen.append(f"{kind}: {error!r}")
        # A round ends with reading the registry.
        if kind == ERROR_DISCOVER:
            self.held = not self._go_on.is_set()
            self._go_on.wait()
            self.held = False


async def _obey(client: eureka_client.EurekaClient, errors: Errors, command: str, argument: str):
    if command == "hold":
        errors.hold()
    elif command == "held":
        return errors.held
    elif command == "release":
        errors.release()
    elif command == "start":
        await client.start()
    elif command == "stop":
        await client.stop()
    elif command == "status":
        await client.status_update(argument)
    elif command == "delete override":
        await client.delete_status_override()
    elif command == "application":
        return _seen(client.applications.get_application(argument))
    elif command == "vip":
        found = await eureka_basic.get_vip(os.environ["EUREKA_URL"], argument)
        return {name: seen for application in found.applications for name, seen in _seen(application).items()}
    else:
        raise ValueError(command)
    return None


async def main(name: str, port: int):
    errors = Errors()
    client = eureka_client.EurekaClient(
        eureka_server=os.environ["EUREKA_URL"],
        app_name="py-story",
        instance_id=name,
        instance_host=f"{name}.test",
        instance_ip="127.0.0.1",
        instance_port=port,
        vip_adr="py-vip",
        renewal_interval_in_secs=1,
        duration_in_secs=3,
        metadata={"who": name},
        on_error=errors,
    )
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        errors.seen.clear()
        try:
            answer = {"value": await _obey(client, errors, *json.loads(line))}
        except Exception as error:  # the story is told whatever the client throws
            answer = {"error": repr(error)}
        if errors.seen:
            answer["errors"] = list(errors.seen)
        print(json.dumps(answer), flush=True)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
os._exit(0)
