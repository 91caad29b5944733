import type { AuthContext, AuthenticationType, PasswordAuthContext, PublicKeyAuthContext } from 'ssh2';
import type { Clock } from '../kernel/clock.ts';
import { hashToken } from '../kernel/ids.ts';
import { backoff, createSlidingLog } from '../kernel/limits/sliding-log.ts';
import { sleep } from '../kernel/sleep.ts';
import type { Store } from '../store/store.ts';
import type { SftpLimits } from './limits.ts';
import { findKeyedSftpUser, readSshKey, sshFingerprint } from './ssh-keys.ts';
import { findSftpServer } from './users.ts';

/** Most answers of any kind, including those that list the methods. */
const MOST_ANSWERS = 10;
const METHODS: AuthenticationType[] = ['publickey', 'password'];
const NAME = /^([a-z0-9-]{1,40})\.[a-z0-9]{8}$/;

/** A login that was accepted. */
export interface AcceptedLogin {
  serverId: string;
  /** The public key used; undefined after a password. */
  keyId?: string;
  /** Reads from the store whether the login would still be accepted. */
  isValid(): Promise<boolean>;
}

/** The client that wants to sign in. */
export interface Guest {
  /** The key of limits by address. */
  address: string;
  /** Called with the server that the client names, before its login is checked. */
  claim(serverId: string): void;
  /** Called when the login is valid. Returns false if no place is left for the client. */
  admit(login: AcceptedLogin): boolean;
  end(): Promise<void>;
}

/**
 * Checks passwords and the owners' public keys, the two ways to sign in. All wrong logins (name, password, too many
 * tries) get the same answer after the same time, and are limited by connection, address and name. Returns a function
 * that creates the answers to one guest; they reject if the store cannot be read.
 */
export function createSignIn(store: Store, clock: Clock, limits: SftpLimits) {
  const byAddress = createSlidingLog(backoff(limits.address), clock);
  const byName = createSlidingLog(backoff(limits.name), clock);

  return function answering(guest: Guest): (context: AuthContext) => Promise<void> {
    let answers = 0;
    let tries = 0;

    return async function answer(context) {
      if (++answers > MOST_ANSWERS) return guest.end();
      if (context.method === 'publickey') return answerKey(context);
      // Most clients first ask for the available methods.
      if (context.method !== 'password') return context.reject(METHODS);
      if (++tries > limits.tries) return guest.end();
      const login = await loginOf(context);
      if (login && guest.admit(login)) return context.accept();
      await sleep(clock, limits.refusalDelayMs);
      if (!login && tries < limits.tries) context.reject(METHODS);
      else await guest.end();
    };

    /**
     * Answers a public key. A client first asks whether the key is accepted, then signs with it (RFC 4252 §7). Keys
     * cannot be guessed, so attempts are not counted.
     */
    async function answerKey(context: PublicKeyAuthContext): Promise<void> {
      const { username, signature, blob, hashAlgo } = context;
      const claimed = NAME.exec(username)?.[1];
      const key = claimed === undefined ? undefined : readSshKey(context.key.data);
      // RSA without a named hash algorithm would use SHA-1.
      const isWeak = key?.type === 'ssh-rsa' && hashAlgo === undefined;
      const fingerprint = key ? sshFingerprint(key.getPublicSSH()) : '';
      const found = key && !isWeak ? await findKeyedSftpUser(store, username, fingerprint) : undefined;
      if (!key || !found) return context.reject(METHODS);
      if (!signature || !blob) return context.accept();
      // `verify` returns an error instead of throwing it.
      const verified: unknown = key.verify(blob, signature, hashAlgo);
      if (verified !== true) return context.reject(METHODS);
      guest.claim(found.serverId);
      const isValid = async (): Promise<boolean> =>
        (await findKeyedSftpUser(store, username, fingerprint))?.keyId === found.keyId;
      const admitted = guest.admit({ ...found, isValid });
      // Once admitted, the connection ends when the key is removed. The key may have been removed just before.
      if (admitted && (await isValid())) context.accept();
      else await guest.end();
    }

    async function loginOf({ username, password }: PasswordAuthContext): Promise<AcceptedLogin | undefined> {
      const claimed = NAME.exec(username)?.[1];
      const attempts = [byAddress.take(guest.address), ...(claimed === undefined ? [] : [byName.take(username)])];
      if (claimed === undefined || attempts.some(({ waitMs }) => waitMs > 0)) return undefined;
      guest.claim(claimed);
      const hash = hashToken(password);
      const isValid = async (): Promise<boolean> => (await findSftpServer(store, username, hash)) === claimed;
      if (!(await isValid())) return undefined;
      for (const { giveBack } of attempts) giveBack();
      return { serverId: claimed, isValid };
    }
  };
}
