import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** A public key of a user's. The key itself is not kept: whoever signs in sends it, and it is known by its fingerprint. */
export interface SshKeyRow {
  id: string;
  userId: string;
  name: string;
  /** As in the key: `ssh-ed25519`, `ssh-rsa`, `ecdsa-sha2-nistp256`, … */
  type: string;
  /** `SHA256:…`, as OpenSSH shows it. */
  fingerprint: string;
  createdAt: number;
  lastUsedAt: number | null;
}

const text: EntitySchemaColumnOptions = { type: 'text' };
const bigint: EntitySchemaColumnOptions = {
  type: 'bigint',
  transformer: { to: exact, from: <T>(value: T): T => value },
};

export const sshKeys = new EntitySchema<SshKeyRow>({
  name: 'ssh_keys',
  columns: {
    id: { ...text, primary: true },
    userId: text,
    name: text,
    type: text,
    fingerprint: text,
    createdAt: bigint,
    lastUsedAt: { ...bigint, nullable: true },
  },
  uniques: [{ columns: ['userId', 'fingerprint'] }],
  foreignKeys: [{ target: 'users', columnNames: ['userId'], referencedColumnNames: ['id'] }],
});
