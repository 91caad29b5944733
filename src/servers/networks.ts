import { VELOCITY } from '../game/cores.ts';
import { type Network, paperSettings } from '../game/network-files.ts';
import { hostAndPort } from '../kernel/address.ts';
import { isEveryAddress } from '../kernel/ip.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';
import { type ServerRow, getServer, listBackends } from './rows.ts';

/** Returns a server's place in a network whose front is a Velocity of this service; undefined without one. */
export type NetworkOf = (row: ServerRow) => Promise<Network | undefined>;

/** `networkHost`: the address of private backends. */
export function createNetworkOf(store: Store, secret: Secret, networkHost: string): NetworkOf {
  // A front reaches an address of this machine if the ports are open at all of them.
  const host = isEveryAddress(networkHost) ? '127.0.0.1' : networkHost;
  // Another server may get the id later, but not this instant too.
  const secretOf = ({ id, createdAt }: ServerRow) => secret.derive('network', `${id} ${createdAt}`);

  return async (row) => {
    if (row.type === VELOCITY) {
      const backends = (await listBackends(store, row)).map(({ id, networkPort: port }) => ({
        name: id,
        address: hostAndPort({ host, port }),
      }));
      return { secret: secretOf(row), backends };
    }
    if (row.networkPort === null || paperSettings(row) === undefined) return undefined;
    const front = await getServer(store, row.networkFront);
    if (front?.type !== VELOCITY || front.accountId !== row.accountId) return undefined;
    return { secret: secretOf(front) };
  };
}
