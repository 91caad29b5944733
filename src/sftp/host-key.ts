import { createHash } from 'node:crypto';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { readIfThere, writeAtomic } from '../kernel/atomic-file.ts';
import { StatusError } from '../kernel/status.ts';

/** The service's host key. */
export interface HostKey {
  /** In OpenSSH's format. Secret. */
  privateKey: string;
  /** `SHA256:…`, as clients show it for comparison. */
  fingerprint: string;
}

const FILE = 'ssh_host_ed25519_key';

/**
 * Reads the host key in the data directory, or creates one. Clients remember it and warn when it changes, so an
 * unreadable key stops the start: FAILED_PRECONDITION HOST_KEY_INVALID.
 */
export async function openHostKey(dataDir: string): Promise<HostKey> {
  const path = join(dataDir, FILE);
  const privateKey = (await readIfThere(path))?.toString() ?? (await create(path));
  const publicKey = publicKeyOf(privateKey);
  if (!publicKey) {
    const message = `${path} is not an Ed25519 private key. Restore it, or remove it to create a new one.`;
    throw new StatusError('FAILED_PRECONDITION', 'HOST_KEY_INVALID', message);
  }
  const digest = createHash('sha256').update(publicKey).digest('base64');
  return { privateKey, fingerprint: `SHA256:${digest.replaceAll('=', '')}` };
}

function publicKeyOf(privateKey: string): Buffer | undefined {
  const key = ssh2.utils.parseKey(privateKey);
  return key instanceof Error || key.type !== 'ssh-ed25519' || !key.isPrivateKey() ? undefined : key.getPublicSSH();
}

async function create(path: string): Promise<string> {
  let privateKey: string;
  // One in 256 of the library's keys is invalid: it drops a leading zero byte.
  do privateKey = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'dormouse' }).private;
  while (!publicKeyOf(privateKey));
  await writeAtomic(path, privateKey, { durable: true });
  return privateKey;
}
