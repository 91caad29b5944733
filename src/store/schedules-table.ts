import { EntitySchema } from 'typeorm';
import { exact } from './exact.ts';

/** What a schedule does. */
export type ScheduleKind = 'command' | 'start' | 'stop' | 'restart' | 'backup';

/** Something to be done with a server, again and again. */
export interface ScheduleRow {
  id: string;
  serverId: string;
  kind: ScheduleKind;
  /** For kind `command`; otherwise ''. */
  command: string;
  /** Five fields, in UTC. */
  cronExpr: string;
  enabled: boolean;
  /** How the last run ended; '' before the first one, and while one is under way. */
  lastStatus: '' | 'ok' | 'error' | 'skipped';
  /** Why it did not end well; ''. */
  lastError: string;
  createdAt: number;
  lastRunAt: number | null;
  /** Null while disabled. */
  nextRunAt: number | null;
  /** When the run began that is under way; null where none is. */
  runningSince: number | null;
  /** Who made it, or enabled it last: it acts for them. '' where that is not known. */
  userId: string;
  /** With which API key; '' for none. */
  keyId: string;
}

const text = { type: 'text' } as const;
const bigint = { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } } as const;
const maybeAt = { ...bigint, nullable: true } as const;

export const schedules = new EntitySchema<ScheduleRow>({
  name: 'schedules',
  columns: {
    id: { type: 'text', primary: true },
    serverId: text,
    kind: text,
    command: text,
    cronExpr: text,
    enabled: { type: 'boolean' },
    lastStatus: text,
    lastError: text,
    createdAt: bigint,
    lastRunAt: maybeAt,
    nextRunAt: maybeAt,
    runningSince: maybeAt,
    userId: { ...text, default: '' },
    keyId: { ...text, default: '' },
  },
  indices: [{ columns: ['serverId'] }, { columns: ['nextRunAt'] }],
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});
