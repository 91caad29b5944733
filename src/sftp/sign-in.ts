import type { AuthContext, AuthenticationType, PasswordAuthContext, PublicKeyAuthContext } from 'ssh2';
import type { Clock } from '../kernel/clock.ts';
import { backoff, createSlidingLog } from '../kernel/limits/sliding-log.ts';
import { sleep } from '../kernel/sleep.ts';
import type { SftpLimits } from './limits.ts';
import { readSshKey, sshFingerprint } from './ssh-keys.ts';
import type { SftpLogin } from './users.ts';

/** How many answers a client gets of any kind, those to questions after methods among them. */
const MOST_ANSWERS = 10;
const METHODS: AuthenticationType[] = ['publickey', 'password'];
const NAME = /^([a-z0-9-]{1,40})\.[a-z0-9]{8}$/;

export interface SignInOptions {
  /** The server that a login is for; undefined where it is for none. */
  findServer: (login: SftpLogin) => Promise<string | undefined>;
  /** The server that a name and a public key's fingerprint are for, and the key's id. */
  findKeyed: (username: string, fingerprint: string) => Promise<{ serverId: string; keyId: string } | undefined>;
  clock: Clock;
  limits: Pick<SftpLimits, 'tries' | 'refusalDelayMs' | 'address' | 'name'>;
}

/** The client that wants to sign in. */
export interface Guest {
  /** The key of limits by address. */
  address: string;
  /** They name this server: told before it is known whether they may. */
  claim(serverId: string): void;
  /** They have proved that they may, with a key where one is named: whether there is still a place. */
  admit(serverId: string, keyId?: string): boolean;
  end(): Promise<void>;
}

/**
 * Checks passwords and the owners' public keys, the two ways to sign in. Whatever is wrong with a password (the name, the
 * password, too many tries) is answered alike and as late, so that nothing can be learnt from it; how often it may be wrong is
 * limited by connection, address and name. Gives what answers one guest; it rejects where the passwords cannot be read.
 */
export function createSignIn({ findServer, findKeyed, clock, limits }: SignInOptions) {
  const byAddress = createSlidingLog(backoff(limits.address), clock);
  const byName = createSlidingLog(backoff(limits.name), clock);

  return function answering(guest: Guest): (context: AuthContext) => Promise<void> {
    let answers = 0;
    let tries = 0;

    return async function answer(context) {
      if (++answers > MOST_ANSWERS) return guest.end();
      if (context.method === 'publickey') return answerKey(context);
      // The first question of most clients is which methods there are.
      if (context.method !== 'password') return context.reject(METHODS);
      if (++tries > limits.tries) return guest.end();
      const serverId = await serverOf(context);
      if (serverId !== undefined && guest.admit(serverId)) return context.accept();
      await sleep(clock, limits.refusalDelayMs);
      if (serverId === undefined && tries < limits.tries) context.reject(METHODS);
      else await guest.end();
    };

    /**
     * A client first asks whether a key is accepted, then signs with it (RFC 4252 §7). Keys cannot be guessed, so tries
     * are not counted.
     */
    async function answerKey(context: PublicKeyAuthContext): Promise<void> {
      const { username, signature, blob, hashAlgo } = context;
      const claimed = NAME.exec(username)?.[1];
      const key = claimed === undefined ? undefined : readSshKey(context.key.data);
      // Without a name of its own the hash would be SHA-1.
      const isWeak = key?.type === 'ssh-rsa' && hashAlgo === undefined;
      const fingerprint = key ? sshFingerprint(key.getPublicSSH()) : '';
      const found = key && !isWeak ? await findKeyed(username, fingerprint) : undefined;
      if (!key || !found) return context.reject(METHODS);
      if (!signature || !blob) return context.accept();
      // It gives an error rather than throwing it.
      const verified: unknown = key.verify(blob, signature, hashAlgo);
      if (verified !== true) return context.reject(METHODS);
      guest.claim(found.serverId);
      const admitted = guest.admit(found.serverId, found.keyId);
      // Once more: from here on the removal of the key finds this connection; it may have looked before.
      if (admitted && (await findKeyed(username, fingerprint))?.keyId === found.keyId) context.accept();
      else await guest.end();
    }

    async function serverOf({ username, password }: PasswordAuthContext): Promise<string | undefined> {
      const claimed = NAME.exec(username)?.[1];
      const attempts = [byAddress.take(guest.address), ...(claimed === undefined ? [] : [byName.take(username)])];
      if (claimed === undefined || attempts.some(({ waitMs }) => waitMs > 0)) return undefined;
      guest.claim(claimed);
      if ((await findServer({ username, password })) !== claimed) return undefined;
      for (const { giveBack } of attempts) giveBack();
      return claimed;
    }
  };
}
