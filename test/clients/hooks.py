"""What schemathesis is told of this API: loaded by SCHEMATHESIS_HOOKS."""

import schemathesis

# What a schema cannot say, by the field: how several fields, or a field and the server's state, go together.
BEYOND_SCHEMAS = {
    "CreateServer": {"id", "hostname", "type", "version", "region", "properties", "modpackPlatform", "modpackRef", "motd", "ramMb"},
    "CreateServerFromTemplate": {"id", "region", "version", "ramMb"},
    # Which of Java's options owners may set.
    "UpdateServer": {"ramMb", "plan", "jvmOptions"},
    "UpdateServerVersion": {"type", "version"},
    "SetModpack": {"ref"},
    # What hours and a time zone are, and names of players.
    "SetServerProperties": {"properties", "awakeHours", "awakeTimeZone", "ignoredPlayers"},
    # Which servers an account has.
    "SetServerNetwork": {"front"},
    # How long a line is that a player sees, tags aside.
    "SetServerMotd": {"motd"},
    "SetWakePolicy": {"asleepMotd", "maintenanceText"},
    # What a cron expression and a time zone are, and a command that goes with its kind.
    "CreateSchedule": {"kind", "command", "cronExpr", "timeZone", "warnSeconds"},
    "RunCommand": {"command"},
    # A test alert goes to the address beside it.
    "SetServerAlertWebhook": {"test"},
    # What a host name is, and the names that the service keeps for itself.
    "AddServerName": {"name"},
    "SetServerHostname": {"hostname"},
    # Only UDP ports wake a server.
    "AddServerPort": {"wakes"},
    # Places from replies, and instants in an order.
    "ListMachines": {"after"},
    "GetServerLogs": {"cursor"},
    "GetServerUsage": {"from", "to"},
    "CreateKey": {"expiresAt", "scopes", "servers"},
    # Where the page before said that the next one begins.
    "ListServers": {"after"},
    "ListServerAudit": {"after"},
    "ListAccountAudit": {"after"},
    # Instants to come.
    "SetBanEntry": {"expires"},
    "SetIpBanEntry": {"expires"},
}

# Paths: how deep, how many bytes a name has in UTF-8, and that they stay within the server.
ANYWHERE = {"path", "paths", "names", "from", "to"}
# What lies at a path.
CONTENT = {"UNKNOWN_ARCHIVE", "BAD_ARCHIVE"}


@schemathesis.check
def refused_by_schema_alone(ctx, response, case):
    """What the schema allows is refused for the state of things (FAILED_PRECONDITION) alone, never as an argument."""
    mode = case.meta.generation.mode if case.meta else None
    if mode is None or not mode.is_positive or response.status_code != 400:
        return
    operation = case.operation.definition.raw
    body = response.json()
    if body.get("code") != 3 or operation["operationId"] in ("VerifyEmail",):
        return
    if any(detail.get("reason") in CONTENT for detail in body["details"]):
        return
    wrong = [
        violation["field"]
        for detail in body["details"]
        for violation in detail.get("fieldViolations", [])
    ]
    allowed = ANYWHERE | BEYOND_SCHEMAS.get(operation["operationId"], set())
    if wrong and all(field.split(".")[0] in allowed for field in wrong):
        return
    raise AssertionError(f"refused though its schema allows it: {body['message']}")
