// The rules of agent-isolation.ts as a shell script for a node, and the helper container that runs it.

/** The label of games that wait for a line before they begin. The agent sends the line once they are isolated. */
export const WAITS = 'dormouse.waits';

/** The label of helper containers, which set the rules. */
export const HELPER = 'dormouse.isolates';
/** Folders in which a node may have iptables, its libraries and a shell. Not every node has all of them. */
const PROGRAMS: readonly string[] = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc/alternatives'];
const MISSING = /bind source path does not exist: (\S+)/;

/** Networks that are not the internet (RFC 6890), and multicast. */
export const INTERNAL: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Matches packets of connections that others have opened to a game, and packets related to a connection. */
export const ANSWERS: readonly string[] = ['-m conntrack --ctdir REPLY', '-m conntrack --ctstate RELATED'];
export const NAME_SERVERS: readonly string[] = ['-p udp --dport 53', '-p tcp --dport 53'];

/** The isolation's settings, as agents.ts passes them to the agent. */
export interface Isolation {
  /** The id of the network that games share. */
  network: string;
  /** An image that this node has. All programs for the rules come from the node itself. */
  image: string;
  /** Ports (TCP) at which games answer. */
  answers: readonly number[];
  /** The TCP port of the database server that games may call on this network; 0 if none exists. */
  databasePort: number;
  /** The database's address outside the overlay; '' without one. */
  databaseHost: string;
  /** Addresses of nodes outside `INTERNAL`; undefined: games may connect to everything that their node can reach. */
  nodes: readonly string[] | undefined;
  /** The UDP port for the packets of overlays between nodes. */
  dataPathPort: number;
}

/**
 * Returns a script that replaces all rules with those of a game at this address, and fails unless they are then in
 * place.
 */
export function rulesFor(isolation: Isolation, address: string, prefix: number): string {
  const subnet = subnetOf(address, prefix);
  const { answers, databasePort, dataPathPort, nodes } = isolation;
  const rules = [
    '-o lo -j ACCEPT',
    ...answers.map((port) => `-o $card -p tcp --sport ${port} ! --syn -j ACCEPT`),
    // Excludes the database port as a source, because another game could listen there and answer.
    ...(databasePort === 0 ? [] : [`-o $card -p tcp ! --sport ${databasePort} --dport ${databasePort} -j ACCEPT`]),
    '-o $card -j DROP',
    `-d ${subnet.text} -j DROP`,
    // A node treats every packet to that port as a packet of the overlay, regardless of its source.
    `-p udp --dport ${dataPathPort} -j DROP`,
    ...(nodes === undefined ? [] : towardsInternet(isolation, nodes)),
  ];
  return `set -eu
card= v6=
while read -r name to rest; do if [ "$to" = ${subnet.hex} ]; then card=$name; fi; done < /proc/net/route
if [ -z "$card" ]; then echo 'the game has no network interface for ${subnet.text}'; exit 1; fi
if [ -e /proc/net/if_inet6 ]; then
  while read -r address index prefix scope flags name; do if [ "$name" = "$card" ]; then v6=yes; fi; done < /proc/net/if_inet6
fi
keep() {
  tool=$1; shift
  {
    echo '*filter'
    for chain in INPUT FORWARD OUTPUT; do echo ":$chain ACCEPT [0:0]"; done
    for rule; do echo "-A OUTPUT $rule"; done
    echo COMMIT
  } | $tool-restore -w 5
  for rule; do $tool -w 5 -C OUTPUT $rule; done
}
keep iptables ${rules.map((rule) => `"${rule}"`).join(' ')}
if [ -n "$v6" ]; then keep ip6tables "-o $card -j DROP"; fi
`;
}

/** Returns the rules for networks other than the games' own. */
function towardsInternet({ databaseHost, databasePort }: Isolation, nodes: readonly string[]): string[] {
  return [
    ...ANSWERS.map((rule) => `${rule} -j ACCEPT`),
    ...NAME_SERVERS.map((rule) => `${rule} -j ACCEPT`),
    ...(databaseHost === '' ? [] : [`-d ${databaseHost} -p tcp --dport ${databasePort} -j ACCEPT`]),
    ...[...nodes, ...INTERNAL].map((network) => `-d ${network} -j REJECT`),
  ];
}

/**
 * Returns a network in the notation of iptables, and in that of the kernel's routing table, with the bytes in reverse
 * order.
 */
function subnetOf(address: string, prefix: number): { text: string; hex: string } {
  const bits = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - prefix);
  const first = Math.floor(bits / size) * size;
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256);
  const hex = bytes.toReversed().map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'));
  return { text: `${bytes.join('.')}/${prefix}`, hex: hex.join('') };
}

/**
 * Returns a function that creates helpers with `make`. It omits the folders of `PROGRAMS` that the node lacks, which
 * Docker reports when it mounts them.
 */
export function helperMaker<Made>(make: (helper: object) => Promise<Made>): (wanted: Helper) => Promise<Made> {
  let programs = PROGRAMS;
  return async (wanted) => {
    for (;;) {
      try {
        return await make(helperFor(wanted, programs));
      } catch (error) {
        const missing = MISSING.exec(String(error))?.[1];
        if (missing === undefined || !programs.includes(missing)) throw error;
        programs = programs.filter((path) => path !== missing);
      }
    }
  };
}

export interface Helper {
  /** The network whose rules it changes: `container:<id>`, or `host` for the node's own. */
  network: string;
  script: string;
  image: string;
  installation: string;
}

/**
 * Returns a container that runs a script in the node's own shell. Its only right is to change the rules of a network.
 */
function helperFor({ network, script, image, installation }: Helper, programs: readonly string[]): object {
  return {
    Image: image,
    User: '0:0',
    Entrypoint: ['/bin/sh', '-c', script],
    Cmd: [],
    Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin'],
    Labels: { [HELPER]: installation },
    // With a terminal, Docker returns the output as plain text, without frames.
    Tty: true,
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: network,
      CapDrop: ['ALL'],
      // Older versions of iptables open a raw socket.
      CapAdd: ['NET_ADMIN', 'NET_RAW'],
      SecurityOpt: ['no-new-privileges', 'label=disable'],
      ReadonlyRootfs: true,
      // Lock directory of older iptables.
      Tmpfs: { '/run': 'rw,nosuid,nodev,noexec,size=1m' },
      Mounts: programs.map((path) => ({ Type: 'bind', Source: path, Target: path, ReadOnly: true })),
      Memory: 2 ** 26,
      PidsLimit: 64,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
    },
  };
}
