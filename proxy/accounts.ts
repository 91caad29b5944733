import { createHash, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { ExpiringMap } from './expiring-map.ts';
import { prefixesOf } from './limits.ts';
import type { Player } from './ports.ts';
import type { Timings } from './settings.ts';

/** The key pair that a client encrypts to. `der` is the public key in the form sent to clients. */
export interface ServerKey {
  der: Buffer;
  privateKey: string;
}

/** An account verified for a player at one address. `forMs`: remaining validity. */
export interface VerifiedAccount {
  name: string;
  ip: string;
  forMs: number;
}

export const SESSION_SERVER_URL = 'https://sessionserver.mojang.com';

/** The key size that games use. Clients accept no other. */
const KEY_BITS = 1024;
/** Limit of a profile in bytes. A profile contains a signed skin of some KiB. */
const PROFILE_BYTES = 64 * 1024;
/** Most accounts remembered, by each proxy and by the service. */
export const MOST_VERIFIED = 10_000;

/**
 * Checks players' accounts with the session service (protocol: Protocol encryption) and remembers the verified ones.
 */
export class Accounts {
  readonly #url: string;
  readonly #timings: Timings;
  readonly #onVerified: (account: VerifiedAccount) => void;
  readonly #verified: ExpiringMap<true>;
  #key: Promise<ServerKey> | undefined;

  /**
   * `url`: of the session service. `now`: monotonic ms. `onVerified` gets each account that this proxy has verified.
   */
  constructor(url: string, timings: Timings, now: () => number, onVerified: (account: VerifiedAccount) => void) {
    this.#onVerified = onVerified;
    this.#url = url.replace(/\/$/, '');
    this.#timings = timings;
    this.#verified = new ExpiringMap(MOST_VERIFIED, now);
  }

  /** Creates the key on first use, because most installations never need one. */
  key(): Promise<ServerKey> {
    const key = (this.#key ??= makeKey());
    // A failure is not cached: the next login tries again.
    key.catch(() => {
      if (this.#key === key) this.#key = undefined;
    });
    return key;
  }

  /** Reports whether this player was recently verified at the same address. */
  knows(player: Player): boolean {
    return this.#verified.has(keyOf(player));
  }

  /** Records an account that this proxy has just verified, and notifies `onVerified`. */
  remember({ name, ip }: Player): void {
    const account = { name, ip, forMs: this.#timings.verifiedMs };
    this.learn(account);
    this.#onVerified(account);
  }

  /** Records an account verified by this or another proxy. */
  learn(account: VerifiedAccount): void {
    this.#verified.set(keyOf(account), true, account.forMs);
  }

  /**
   * Reports whether the account with the player's name and claimed UUID has joined with this secret. Rejects if the
   * session service is unreachable or returns an invalid response, or when `signal` fires.
   */
  async hasJoined({ name, uuid }: Player, sharedSecret: Buffer, signal: AbortSignal): Promise<boolean> {
    const { der } = await this.key();
    const query = new URLSearchParams({ username: name, serverId: serverHash(sharedSecret, der) });
    const response = await fetch(`${this.#url}/session/minecraft/hasJoined?${query.toString()}`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(this.#timings.verifyMs)]),
      redirect: 'error',
    });
    // 204: no account of that name has joined with this secret.
    if (response.status !== 200) {
      await response.body?.cancel();
      if (response.status === 204 || response.status === 403) return false;
      throw new Error(`the session service answered ${response.status}`);
    }
    const profile = JSON.parse(await textOf(response)) as { id?: unknown; name?: unknown } | null;
    if (profile?.name !== name || typeof profile.id !== 'string') return false;
    return uuid === null || profile.id.toLowerCase() === uuid.replaceAll('-', '');
  }
}

/** Returns the SHA-1 of the (empty) server id, the secret and the key, as a signed hexadecimal number. */
export function serverHash(sharedSecret: Buffer, der: Buffer): string {
  const digest = createHash('sha1').update(sharedSecret).update(der).digest('hex');
  return BigInt.asIntN(160, BigInt(`0x${digest}`)).toString(16);
}

function keyOf({ ip, name }: { ip: string; name: string }): string {
  return `${prefixesOf(ip)[0]} ${name.toLowerCase()}`;
}

async function makeKey(): Promise<ServerKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: KEY_BITS,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { der: publicKey, privateKey };
}

async function textOf(response: Response): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > PROFILE_BYTES) throw new Error(`the profile has more than ${PROFILE_BYTES} bytes`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString('utf8');
}
