import { BlockList, SocketAddress, isIPv6 } from 'node:net';
import type { Limits, Rate } from './settings.ts';

/** Releases a place. Further calls do nothing. */
export type Release = () => void;

interface Bucket {
  tokens: number;
  at: number;
  rate: Rate;
}

/** The networks of an address, as the limits count them. */
interface Origin {
  isExempt: boolean;
  /** Keys of its /32 and /24, or /64 and /48. */
  address: string;
  network: string;
}

interface Cap {
  key: string;
  max: number;
}

/** Most addresses cached. Players and server lists connect repeatedly. */
const MAX_ORIGINS = 4_096;
/** Most buckets stored. The least recently used is dropped first, so that memory stays bounded during a flood. */
const MAX_BUCKETS = 65_536;

/**
 * The limits of each address and each network. Buckets are never shared by all clients, so that no client can lock
 * others out; only `unrouted` and `holdsPerServer` limit the total.
 */
export class Limiter {
  readonly #limits: Limits;
  readonly #now: () => number;
  readonly #mostBuckets: number;
  readonly #exempt: BlockList;
  readonly #buckets = new Map<string, Bucket>();
  readonly #counts = new Map<string, number>();
  readonly #origins = new Map<string, Origin>();

  constructor(limits: Limits, now: () => number, mostBuckets = MAX_BUCKETS) {
    this.#limits = limits;
    this.#now = now;
    this.#mostBuckets = mostBuckets;
    this.#exempt = blockListOf(limits.exempt);
  }

  /** Returns a place for a new socket until it is joined to a game or closed; undefined if a limit is reached. */
  enter(ip: string): Release | undefined {
    if (!this.#take('connections', ip)) return undefined;
    const { unrouted: max, unroutedPerAddress } = this.#limits;
    return this.#count([{ key: 'unrouted', max }, ...this.#perAddress('unrouted', ip, unroutedPerAddress)]);
  }

  /** Returns a place for a load balancer's socket whose client is not known yet; undefined if the limit is reached. */
  enterUnnamed(): Release | undefined {
    return this.#count([{ key: 'unrouted', max: this.#limits.unrouted }]);
  }

  status(ip: string): boolean {
    return this.#take('status', ip);
  }

  login(ip: string): boolean {
    return this.#take('logins', ip);
  }

  /** Returns a place to wait for `serverId`; undefined if a limit is reached. */
  hold(ip: string, serverId: string): Release | undefined {
    const { holdsPerServer: max, holdsPerAddress } = this.#limits;
    return this.#count([{ key: `server ${serverId}`, max }, ...this.#perAddress('hold', ip, holdsPerAddress)]);
  }

  /** Drops full buckets. Called about once a second. */
  sweep(): void {
    const at = this.#now();
    for (const [key, bucket] of this.#buckets) {
      if (bucket.tokens + ((at - bucket.at) / 1000) * bucket.rate.perSecond >= bucket.rate.burst)
        this.#buckets.delete(key);
    }
  }

  #origin(ip: string): Origin {
    const known = this.#origins.get(ip);
    if (known) return known;
    const [address, network] = prefixesOf(ip);
    const origin = { isExempt: isListed(this.#exempt, ip), address, network };
    if (this.#origins.size >= MAX_ORIGINS) this.#origins.clear();
    this.#origins.set(ip, origin);
    return origin;
  }

  #perAddress(kind: string, ip: string, max: number): Cap[] {
    const { isExempt, address, network } = this.#origin(ip);
    if (isExempt) return [];
    return [
      { key: `${kind} ${address}`, max },
      { key: `${kind} ${network}`, max: max * this.#limits.networkFactor },
    ];
  }

  #count(caps: Cap[]): Release | undefined {
    if (caps.some(({ key, max }) => (this.#counts.get(key) ?? 0) >= max)) return undefined;
    for (const { key } of caps) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      for (const { key } of caps) {
        const left = (this.#counts.get(key) ?? 0) - 1;
        if (left > 0) this.#counts.set(key, left);
        else this.#counts.delete(key);
      }
    };
  }

  #take(kind: 'connections' | 'status' | 'logins', ip: string): boolean {
    const { isExempt, address, network } = this.#origin(ip);
    if (isExempt) return true;
    const { burst, perSecond } = this.#limits[kind];
    const factor = this.#limits.networkFactor;
    // The network is checked first: once its tokens are used up, its addresses create no buckets.
    return (
      this.#spend(`${kind} ${network}`, { burst: burst * factor, perSecond: perSecond * factor }) &&
      this.#spend(`${kind} ${address}`, { burst, perSecond })
    );
  }

  #spend(key: string, rate: Rate): boolean {
    const at = this.#now();
    const bucket = this.#buckets.get(key) ?? { tokens: rate.burst, at, rate };
    const refill = (Math.max(0, at - bucket.at) / 1000) * rate.perSecond;
    bucket.tokens = Math.min(rate.burst, bucket.tokens + refill);
    bucket.at = at;
    // Delete first, so that the map stays in order of last use: an address that keeps connecting is not dropped.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined && this.#buckets.size > this.#mostBuckets) this.#buckets.delete(oldest);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

/**
 * Returns the /32 and /24 of an IPv4 address, or the /64 and /48 of an IPv6 one, as keys. This duplicates the service's
 * version, because the proxy imports nothing from the service's kernel.
 */
export function prefixesOf(ip: string): [address: string, network: string] {
  if (!isIPv6(ip)) return [ip, `${ip.slice(0, ip.lastIndexOf('.'))}.*`];
  const [head = '', tail] = (ip.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(gap).fill('0'), ...right].map((group) => group.replace(/^0+(?=.)/, ''));
  return [`${groups.slice(0, 4).join(':')}/64`, `${groups.slice(0, 3).join(':')}/48`];
}

/** Returns an address with its IPv4 mapping removed. */
export function plainAddress(remoteAddress: string | undefined): string {
  if (!remoteAddress?.startsWith('::ffff:')) return remoteAddress ?? '';
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

/** Returns an address in the form that sockets report, so that limits and bans recognise it. */
export function normalAddress(address: string): string {
  if (!isIPv6(address)) return address;
  return plainAddress(new SocketAddress({ address, family: 'ipv6' }).address);
}

/** Reports whether an address is in the list. */
export function isListed(list: BlockList, ip: string): boolean {
  return list.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');
}

/** Builds the list of addresses and networks (`203.0.113.0/24`) that `isListed` checks. */
export function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
