import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** What strangers may see of a server. */
export interface PublicStatusRow {
  serverId: string;
  /** The last part of the page's address; null until it was enabled for the first time, and the same ever after. */
  slug: string | null;
  enabled: boolean;
  showAddress: boolean;
}

/** Whose login may wake a server. */
export type WakeMode = 'anyone' | 'known' | 'whitelist' | 'verified' | 'nobody';

/** Who may wake a server by joining, and what it shows while it sleeps. No row: anyone, and Dormouse's own words. */
export interface WakePolicyRow {
  serverId: string;
  mode: WakeMode;
  /** By players, counted from midnight UTC; 0: no cap. */
  maxWakesPerDay: number;
  /** What the server list shows while it sleeps; '' for the usual. */
  asleepMotd: string;
  /** Not '': nobody wakes it by joining, and all who try read this. */
  maintenanceText: string;
}

const text: EntitySchemaColumnOptions = { type: 'text' };
const boolean: EntitySchemaColumnOptions = { type: 'boolean' };
const ofServer = {
  target: 'servers',
  columnNames: ['serverId'],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
};

export const publicStatuses = new EntitySchema<PublicStatusRow>({
  name: 'public_statuses',
  columns: { serverId: id, slug: { ...text, nullable: true }, enabled: boolean, showAddress: boolean },
  uniques: [{ columns: ['slug'] }],
  foreignKeys: [ofServer],
});

export const wakePolicies = new EntitySchema<WakePolicyRow>({
  name: 'wake_policies',
  columns: {
    serverId: id,
    mode: text,
    maxWakesPerDay: { type: 'integer', transformer: { to: exact, from: <T>(value: T): T => value } },
    asleepMotd: text,
    maintenanceText: text,
  },
  foreignKeys: [ofServer],
});
