import { EntitySchema } from 'typeorm';
import { HUNG, STOP_FORCED, hung } from '../../machines/server-reasons.ts';
import type { Cause, Ending, Failure, Finished } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverState } from '../../machines/server.ts';
import type { Insight } from '../game/diagnosis/diagnosis.ts';
import { bigint, id, ofServer, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A failure of one server. The newest 50 are stored. */
export interface DiagnosticRow {
  serverId: string;
  seq: number;
  at: number;
  kind: 'install' | 'start' | 'crash' | 'stop';
  code: string;
  summary: string;
  suggestion: string;
  /** Log lines that show the failure. */
  evidence: string;
  /** All insights, most important first: {@link StoredInsight}s as JSON. */
  insights: string;
}

export interface StoredInsight {
  code: string;
  subject: string;
  summary: string;
  suggestion: string;
  evidence: string[];
}

/** A failure to be stored; the store adds the server and a number. */
type NewDiagnostic = Omit<DiagnosticRow, 'serverId' | 'seq'>;

export const diagnostics = new EntitySchema<DiagnosticRow>({
  name: 'diagnostics',
  columns: {
    serverId: id,
    seq: { ...bigint, primary: true },
    at: bigint,
    kind: text,
    code: text,
    summary: text,
    suggestion: text,
    evidence: text,
    insights: text,
  },
  foreignKeys: [ofServer],
});

/** Number of diagnostics stored per server. Older ones are deleted. */
const KEPT = 50;

/** Stores a failure of a server. Call it in the write of the transition that the failure caused. */
export async function insertDiagnostic(tx: Tx, serverId: string, diagnostic: NewDiagnostic): Promise<void> {
  const { at, kind, code, summary, suggestion, evidence, insights } = diagnostic;
  const newest = 'SELECT COALESCE(MAX("seq"), 0) FROM "diagnostics" WHERE "serverId" = $1';
  const insert = `INSERT INTO "diagnostics"
    ("serverId", "seq", "at", "kind", "code", "summary", "suggestion", "evidence", "insights")
    VALUES ($1, (${newest}) + 1, $2, $3, $4, $5, $6, $7, $8)`;
  await tx.run(insert, [serverId, at, kind, code, summary, suggestion, evidence, insights]);
  await tx.run(`DELETE FROM "diagnostics" WHERE "serverId" = $1 AND "seq" <= (${newest}) - ${KEPT}`, [serverId]);
}

/** Returns all diagnostics of a server, newest first. */
export async function listDiagnostics(db: Sql, serverId: string): Promise<DiagnosticRow[]> {
  return db.query<DiagnosticRow>('SELECT * FROM "diagnostics" WHERE "serverId" = $1 ORDER BY "seq" DESC', [serverId]);
}

/** A failure with all insights, if a log was read. The machine keeps only the failure. */
type Diagnosed = Failure & { insights?: readonly Insight[] };

/** The fields of a transition's event that may hold a failure. */
interface FailingEvent {
  type: string;
  how?: Ending;
  failure?: Diagnosed;
  /** How long a hanging game has been silent. */
  silentMs?: number | null;
  lastLines?: string;
  /** The sender. */
  cause?: Cause;
  /** The result of an effect. */
  output?: Partial<Finished>;
  /** The rejection of an effect. */
  error?: unknown;
}

/** Returns the failure that caused a transition, for storage; undefined if none did. */
export function failureIn(
  before: ServerSnapshot,
  after: ServerSnapshot,
  event: FailingEvent,
  at: number,
): NewDiagnostic | undefined {
  const [from, to] = [serverState(before), serverState(after)];
  if (from === 'stopping' && isForced(before, after, event)) return diagnostic('stop', STOP_FORCED, [], at);
  if (from === to) return undefined;
  const { startFailure, installFailure, hangs } = after.context;
  const insights = insightsIn(event);
  if (from === 'running' && event.how === 'crashed') return diagnostic('crash', event.failure, insights, at);
  if (to === 'stopping' && hangs.length > 0 && hangs !== before.context.hangs)
    return diagnostic('crash', hung(event), [], at);
  if (to === 'start_failed') return diagnostic(from === 'running' ? 'crash' : 'start', startFailure, insights, at);
  return to === 'install_failed' ? diagnostic('install', installFailure, insights, at) : undefined;
}

/** Whether a game was killed before it could save. A game that hung before has been reported already. */
function isForced(before: ServerSnapshot, after: ServerSnapshot, event: FailingEvent): boolean {
  if (before.context.cause.id === HUNG.id || before.context.kill) return false;
  // The sender of an event needs no notice of it.
  const isOverdue = event.type === 'ALARM' && event.cause === undefined && after.context.kill;
  return isOverdue || event.output?.killed === true;
}

/** Returns the insights of a diagnosis except `unknown`. */
function insightsIn({ failure, error }: FailingEvent): StoredInsight[] {
  const { insights = [] } = failure ?? (error as Partial<Diagnosed> | undefined) ?? {};
  return insights.filter(({ code }) => code !== 'unknown');
}

function diagnostic(
  kind: NewDiagnostic['kind'],
  failure: Failure | null | undefined,
  insights: StoredInsight[],
  at: number,
): NewDiagnostic | undefined {
  if (!failure) return undefined;
  const { code, summary, suggestion, raw } = failure;
  return { at, kind, code, summary, suggestion, evidence: raw, insights: JSON.stringify(insights) };
}
