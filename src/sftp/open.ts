import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { AddressInfo, BlockList } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import type { DiskQuota } from '../disk/quota.ts';
import type { Files } from '../files/files.ts';
import { readIfThere, writeAtomic } from '../kernel/atomic-file.ts';
import { StatusError } from '../kernel/status.ts';
import type { People } from '../people/people.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { sftpOperations } from './api.ts';
import { Sftp } from './sftp.ts';
import { sshKeyOperations } from './ssh-keys-api.ts';
import { mountSshKeys } from './ssh-keys-pages.ts';

/**
 * Serves servers' files over SFTP, under the same rules as elsewhere. Never: a shell, a forwarded port, or a file
 * outside of the server's folder.
 */

/**
 * Opens SFTP for servers' files. It accepts clients only after `listenSftp`. The deletion of a server ends its
 * connections.
 */
export async function openSftp(
  { store, servers, serverOperation, clock, log, onClose }: Shared,
  people: People,
  files: Files,
  disk: DiskQuota,
  settings: { dataDir: string; publicHost: string; sftpPublicHost?: string | null; trustedProxies?: BlockList },
): Promise<{ sftp: Sftp; feature: Feature }> {
  const { dataDir, trustedProxies } = settings;
  const publicHost = settings.sftpPublicHost || settings.publicHost;
  const base = { store, clock, log: log.child({ room: 'sftp' }), dataDir };
  const sftp = new Sftp(base, await openHostKey(dataDir), files, disk, trustedProxies);
  // Ends them at once, because erasing a deleted server may wait for its engine.
  onClose(servers.observe((id, now) => void (now?.state === 'deleting' && sftp.cut(id))));
  const keys = { ...people, sftp };
  return {
    sftp,
    feature: {
      operations: sftpOperations({ sftp, servers, serverOperation, store, clock, config: { publicHost } }),
      sessionOperations: sshKeyOperations(keys),
      pages: (serve) => mountSshKeys(serve, keys),
    },
  };
}

/** Accepts SFTP clients and resolves with the address of the port. Rejects if the port cannot be opened. */
export async function listenSftp(
  sftp: Sftp,
  { settings, log, onClose }: Pick<Shared, 'log' | 'onClose'> & { settings: { sftpHost: string; sftpPort: number } },
): Promise<AddressInfo> {
  warnWithoutNativeCrypto(log);
  onClose(() => sftp.close());
  return await sftp.listen(settings.sftpHost, settings.sftpPort);
}

/**
 * Whether the compiled part of the SSH library loads. Without it, SFTP works at a third of the speed, and the library
 * does not report that.
 */
export function hasNativeCrypto(): boolean {
  try {
    createRequire(import.meta.url)('ssh2/lib/protocol/crypto/build/Release/sshcrypto.node');
    return true;
  } catch {
    return false;
  }
}

export function warnWithoutNativeCrypto(log: Shared['log'], isThere = hasNativeCrypto()): void {
  if (isThere) return;
  log.warn('SFTP is slow, because the native part of ssh2 was not built for this Node; run npm rebuild ssh2');
}

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
