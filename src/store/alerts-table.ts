import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** A message to a server's webhook that has not been taken yet. Where to is the server's own to say, until it is sent. */
export interface WebhookMessageRow {
  /** Sorts by time; also tells the receiver a repetition. */
  id: string;
  serverId: string;
  /** What it tells of, as JSON text. */
  notice: string;
  createdAt: number;
  /** Not to be sent before. */
  dueAt: number;
  /** Tries that have failed. */
  tries: number;
}

/** A server that is too slow at present. */
export interface TpsIncidentRow {
  serverId: string;
  openedAt: number;
}

const text: EntitySchemaColumnOptions = { type: 'text' };
const transformer = { to: exact, from: <T>(value: T): T => value };
const integer: EntitySchemaColumnOptions = { type: 'integer', transformer };
const bigint: EntitySchemaColumnOptions = { type: 'bigint', transformer };
const ofServer = {
  target: 'servers',
  columnNames: ['serverId'],
  referencedColumnNames: ['id'],
  onDelete: 'CASCADE' as const,
};

export const webhookMessages = new EntitySchema<WebhookMessageRow>({
  name: 'webhook_messages',
  columns: {
    id: { ...text, primary: true },
    serverId: text,
    notice: text,
    createdAt: bigint,
    dueAt: bigint,
    tries: integer,
  },
  indices: [{ columns: ['serverId', 'id'] }, { columns: ['dueAt'] }],
  foreignKeys: [ofServer],
});

export const tpsIncidents = new EntitySchema<TpsIncidentRow>({
  name: 'tps_incidents',
  columns: { serverId: { ...text, primary: true }, openedAt: bigint },
  foreignKeys: [ofServer],
});
