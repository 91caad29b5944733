import { lookup } from 'node:dns/promises';
import type Docker from 'dockerode';
import type { Address } from '../../kernel/address.ts';
import { EngineError } from '../engine.ts';
import { ANSWERS, HELPER, INTERNAL, NAME_SERVERS, helperMaker } from '../swarm/agent-rules.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { statusOf, unless, within } from './errors.ts';

/** Restricts the connections that games open. */
export interface Egress {
  /**
   * Resolves once games on this bridge can reach the internet, name servers and their database, but neither private
   * networks nor this machine. `image`: an image that is present. Rejects with EngineError if that is impossible.
   */
  restrict(networkId: string, image: string): Promise<void>;
}

const CALL_MS = 30_000;
/** Other programs may remove our rules. A boot renews rules that are older than this. */
const FRESH_MS = 10 * MINUTE_MS;

/**
 * Restricts games by rules of this machine's firewall for packets from the games' bridge. The rules exist before a game
 * starts and do not slow its start. Rules in a game's own network, as in agent-isolation.ts, would apply only after its
 * first packets. `database`: the database server for games; undefined if they have none.
 */
export function gameEgress(docker: Docker, installation: string, database: Address | undefined): Egress {
  const done = new Map<string, { at: number; work: Promise<void> }>();
  const create = helperMaker((helper) => within(CALL_MS, docker.createContainer(helper)));
  let leftovers: Promise<void> | undefined;

  async function apply(networkId: string, image: string): Promise<void> {
    const databases = database === undefined ? [] : await addressesOf(database.host);
    const rules = rulesOf(networkId, installation, databases, database?.port ?? 0);
    // Includes Docker's own refusals, for example of folders that Docker Desktop does not share.
    const said = await run(rules, image).catch((error: unknown) => {
      if (statusOf(error) === undefined) throw error;
      return (error as Error).message.trim();
    });
    if (said === undefined) return;
    throw new EngineError('unknown', `Games could not be blocked from the networks of this machine: ${said}.`, {
      suggestion:
        'Ask the operator to check iptables, which Docker also uses. ' +
        'GAMES_REACH=everything needs no iptables, but lets games connect to these networks.',
    });
  }

  /** Removes the helper containers of a killed service. */
  async function removeLeftovers(): Promise<void> {
    const filters = { label: [`${HELPER}=${installation}`] };
    for (const { Id } of await within(CALL_MS, docker.listContainers({ all: true, filters })))
      await unless([404, 409], docker.getContainer(Id).remove({ force: true, v: true }));
  }

  /**
   * Runs a script with rights to this machine's firewall. Resolves with its output if it failed, otherwise with
   * undefined.
   */
  async function run(script: string, image: string): Promise<string | undefined> {
    const helper = await create({ network: 'host', script, image, installation });
    try {
      await within(CALL_MS, helper.start());
      const { StatusCode: code } = (await within(CALL_MS, helper.wait())) as { StatusCode: number };
      if (code === 0) return undefined;
      const said = await within(CALL_MS, helper.logs({ stdout: true, stderr: true }));
      return said.toString().trim().replaceAll(/\s+/g, ' ') || `iptables ended with code ${code}`;
    } finally {
      helper.remove({ force: true, v: true }).catch(() => undefined);
    }
  }

  function begin(networkId: string, image: string): Promise<void> {
    leftovers ??= removeLeftovers().catch(() => undefined);
    const work = leftovers.then(() => apply(networkId, image));
    done.set(networkId, { at: performance.now(), work });
    work.catch(() => done.delete(networkId));
    return work;
  }

  return {
    restrict(networkId, image) {
      const last = done.get(networkId);
      if (last === undefined) return begin(networkId, image);
      // Old rules are renewed in the background. A game does not wait for that.
      if (performance.now() - last.at > FRESH_MS) begin(networkId, image).catch(() => undefined);
      return last.work;
    },
  };
}

/** Returns the IPv4 addresses of a host; none if its name does not resolve. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, family: 4 }).catch(() => []);
  return found.map(({ address }) => address);
}

/**
 * Returns a script that adds our own chain, before Docker's rules for forwarded packets and before all rules for
 * packets to this machine.
 */
function rulesOf(networkId: string, installation: string, databases: readonly string[], port: number): string {
  const card = `br-${networkId.slice(0, 12)}`;
  const chain = `DORMOUSE-${installation}`;
  const rules = [
    ...ANSWERS.map((rule) => `${rule} -j RETURN`),
    // Docker may already have replaced this destination by a container's address.
    ...databases.map((host) => `-p tcp -m conntrack --ctorigdst ${host} --ctorigdstport ${port} -j RETURN`),
    ...NAME_SERVERS.map((rule) => `${rule} -j RETURN`),
    '-m addrtype --dst-type LOCAL -j REJECT',
    ...INTERNAL.map((network) => `-d ${network} -j REJECT`),
  ];
  return `set -eu
if [ "$(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>&1)" != 1 ]; then
  echo 'packets between games do not pass iptables (net.bridge.bridge-nf-call-iptables)'; exit 1
fi
{
  echo '*filter'
  echo ':${chain} - [0:0]'
  for rule in ${rules.map((rule) => `"${rule}"`).join(' ')}; do echo "-A ${chain} $rule"; done
  echo COMMIT
} | iptables-restore -w 5 --noflush
forward=FORWARD
if iptables -w 5 -S DOCKER-USER >/dev/null 2>&1; then forward=DOCKER-USER; fi
for from in INPUT $forward; do
  iptables -w 5 -C $from -i ${card} -j ${chain} 2>/dev/null || iptables -w 5 -I $from -i ${card} -j ${chain}
  # Remove the rules of an earlier bridge.
  iptables -w 5 -S $from | while read -r add rule; do
    case $rule in
      *"-i ${card} "*) ;;
      *"-j ${chain}") iptables -w 5 -D $rule ;;
    esac
  done
done
`;
}
