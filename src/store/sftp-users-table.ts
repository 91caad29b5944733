import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** The one who may see to a server's files over SFTP; whether they may at present, the server's own row says. */
export interface SftpUserRow {
  serverId: string;
  username: string;
  /** SHA-256 of the password, hex; '' while SFTP is off. */
  passwordHash: string;
  /** When the password was made. */
  changedAt: number;
}

const text: EntitySchemaColumnOptions = { type: 'text' };

export const sftpUsers = new EntitySchema<SftpUserRow>({
  name: 'sftp_users',
  columns: {
    serverId: { ...text, primary: true },
    username: text,
    passwordHash: text,
    changedAt: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  uniques: [{ columns: ['username'] }],
  foreignKeys: [
    { target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' as const },
  ],
});
