// The rules of agent-isolation.ts, as a script of a node's shell.

/** The label of games that wait for a line before they begin, which the agent gives them once they are kept apart. */
export const WAITS = 'dormouse.waits';

/** What is to be kept apart, as agents.ts hands it over to the agent. */
export interface Isolation {
  /** The id of the network that games share. */
  network: string;
  /** An image that this node has; all that the rules need is taken from the node itself. */
  image: string;
  /** Ports (TCP) at which games answer. */
  answers: readonly number[];
  /** The port (TCP) of the database server that games may call there; 0: none. */
  databasePort: number;
  /** The port (UDP) by which nodes send one another packets of overlays. */
  dataPathPort: number;
}

/** Puts the rules of a game that has this address there, in place of all others, and fails unless they are there then. */
export function rulesFor(isolation: Isolation, address: string, prefix: number): string {
  const subnet = subnetOf(address, prefix);
  const { answers, databasePort, dataPathPort } = isolation;
  const rules = [
    '-o lo -j ACCEPT',
    ...answers.map((port) => `-o $card -p tcp --sport ${port} ! --syn -j ACCEPT`),
    // The database server's own port is not taken from it, or another game could listen there, and answer.
    ...(databasePort === 0 ? [] : [`-o $card -p tcp ! --sport ${databasePort} --dport ${databasePort} -j ACCEPT`]),
    '-o $card -j DROP',
    `-d ${subnet.text} -j DROP`,
    // A node takes whatever comes to that port for a packet of the overlay, wherever it comes from.
    `-p udp --dport ${dataPathPort} -j DROP`,
  ];
  return `set -eu
card= v6=
while read -r name to rest; do if [ "$to" = ${subnet.hex} ]; then card=$name; fi; done < /proc/net/route
if [ -z "$card" ]; then echo 'it has no network card for ${subnet.text}'; exit 1; fi
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

/** A network as iptables has it, and as the kernel's table of routes does: the bytes from the last to the first. */
function subnetOf(address: string, prefix: number): { text: string; hex: string } {
  const bits = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const size = 2 ** (32 - prefix);
  const first = Math.floor(bits / size) * size;
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256);
  const hex = bytes.toReversed().map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'));
  return { text: `${bytes.join('.')}/${prefix}`, hex: hex.join('') };
}
