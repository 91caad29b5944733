import { EntitySchema } from 'typeorm';
import { exact } from './exact.ts';

/** A server that an operator keeps from waking. */
export interface SuspensionRow {
  serverId: string;
  /** As its owner reads it. */
  reason: string;
  /** The operator. */
  userId: string;
  at: number;
}

export const suspensions = new EntitySchema<SuspensionRow>({
  name: 'suspensions',
  columns: {
    serverId: { type: 'text', primary: true },
    reason: { type: 'text' },
    userId: { type: 'text' },
    at: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});
