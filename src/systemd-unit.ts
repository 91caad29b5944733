import { join } from 'node:path';

/**
 * Returns a systemd unit for this checkout, for `npm start -- --systemd`. Omits options that hide parts of /proc or
 * deny namespaces, because bubblewrap, which isolates games, would not start with them.
 *
 * `user`: a system user that owns `dataDir` and needs no write access elsewhere. `home`: the project's folder, which
 * contains `.env`. All paths are absolute; `node` is the executable.
 */
export function systemdUnit({
  user,
  node,
  home,
  dataDir,
}: Record<'user' | 'node' | 'home' | 'dataDir', string>): string {
  return `# Written by npm start -- --systemd. Settings: ${join(home, '.env')}
[Unit]
Description=Dormouse: Minecraft servers that sleep until someone joins
Wants=network-online.target
After=network-online.target docker.service postgresql.service mariadb.service

[Service]
User=${user}
WorkingDirectory=${specified(home)}
Environment=${quoted(`DATA_DIR=${dataDir}`)}
ExecStart=${argument(node)} ${argument(join(home, 'src/start.js'))}
Restart=on-failure
RestartSec=2

# A stop or restart ends only the service. Players keep playing, and the next start adopts their games and proxy.
KillMode=process
TimeoutStopSec=60
# If a game runs out of memory, only that game ends.
OOMPolicy=continue
LimitNOFILE=65536
# The proxy may raise its priority, so that a busy service does not delay players.
LimitNICE=-7
TasksMax=infinity

UMask=0027
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ReadWritePaths=${quoted(dataDir)}
ProtectHome=read-only
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/** Quotes a value for most settings of a unit: systemd.syntax(7). */
function quoted(value: string): string {
  return /[\s"'\\;$]/.test(value) ? `"${specified(value).replaceAll(/["\\]/g, String.raw`\$&`)}"` : specified(value);
}

/** Quotes a value for a place in which `$` starts a variable. */
function argument(value: string): string {
  return quoted(value).replaceAll('$', '$$$$');
}

/** Escapes `%`, which starts a specifier everywhere. */
function specified(value: string): string {
  return value.replaceAll('%', '%%');
}
