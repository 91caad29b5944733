import { EntitySchema } from 'typeorm';
import { bigint, id, ofServer, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

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

/** A finding that explains a failure. */
export interface StoredInsight {
  code: string;
  subject: string;
  summary: string;
  suggestion: string;
  evidence: string[];
}

/** A failure to be stored; the store adds the server and a number. */
export type NewDiagnostic = Omit<DiagnosticRow, 'serverId' | 'seq'>;

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
