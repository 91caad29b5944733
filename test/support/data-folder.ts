import { join } from 'node:path';

/** Data folders that earlier versions have written. */
export const FOLDERS = join(import.meta.dirname, '../fixtures/data-folders');

/** The credentials of a stored data folder, and the API's replies at its time. */
export interface DataFolder {
  /** The service's clock when it stopped, epoch ms. */
  at: number;
  accountId: string;
  email: string;
  password: string;
  apiKey: string;
  /** A device grant that waits for approval. */
  grant: { deviceCode: string; userCode: string };
  /** Replies, by the names of `repliesOf`. */
  said: Record<string, unknown>;
}

/** Returns the API paths to read, by name. */
export function repliesOf(accountId: string): Record<string, string> {
  const played = '/v1/servers/played';
  return {
    servers: '/v1/servers',
    wallet: `/v1/accounts/${accountId}/wallet`,
    ledger: `/v1/accounts/${accountId}/ledger`,
    members: `${played}/members`,
    backups: `${played}/backups`,
    schedules: `${played}/schedules`,
    players: `${played}/players`,
    audit: `${played}/audit`,
    usage: `${played}/usage`,
    templates: '/v1/templates',
    suspended: '/v1/servers/barred',
    failures: '/v1/servers/broken/diagnostics',
  };
}
