"""Makes a server and lists it with the client that openapi-python-client generates, and compiles the patterns that come by
standard input. Arguments: the folder of the generated package, the service's address, an API key."""

import importlib
import json
import pkgutil
import re
import sys

folder, url, key = sys.argv[1:]
for pattern in json.load(sys.stdin):
    re.compile(pattern)
sys.path.insert(0, folder)
import client_of_dormouse as package  # noqa: E402

for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    importlib.import_module(module.name)

from client_of_dormouse.api.control import create_server, list_servers  # noqa: E402
from client_of_dormouse.models import CreateServerRequest, Server  # noqa: E402

with package.AuthenticatedClient(url, key, prefix="", auth_header_name="x-api-key") as client:
    made = create_server.sync(client=client, body=CreateServerRequest(name="From Python", ram_mb=256))
    assert isinstance(made, Server), made
    for server in list_servers.sync(client=client).servers:
        print(server.id, server.disk_usage_mb)
