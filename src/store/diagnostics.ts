import type { DiagnosticRow, NewDiagnostic } from './rows.ts';
import type { Sql, Tx } from './writer.ts';

/** Per server; older ones go when newer ones come. */
const KEPT = 50;

/** Keeps a failure of a server; to be called in the write of the transition that it caused. */
export async function insertDiagnostic(tx: Tx, serverId: string, diagnostic: NewDiagnostic): Promise<void> {
  const { at, kind, code, summary, suggestion, evidence, insights } = diagnostic;
  const newest = 'SELECT COALESCE(MAX("seq"), 0) FROM "diagnostics" WHERE "serverId" = $1';
  const insert = `INSERT INTO "diagnostics"
    ("serverId", "seq", "at", "kind", "code", "summary", "suggestion", "evidence", "insights")
    VALUES ($1, (${newest}) + 1, $2, $3, $4, $5, $6, $7, $8)`;
  await tx.run(insert, [serverId, at, kind, code, summary, suggestion, evidence, insights]);
  await tx.run(`DELETE FROM "diagnostics" WHERE "serverId" = $1 AND "seq" <= (${newest}) - ${KEPT}`, [serverId]);
}

/** All that is kept of a server, newest first. */
export async function listDiagnostics(db: Sql, serverId: string): Promise<DiagnosticRow[]> {
  return db.query<DiagnosticRow>('SELECT * FROM "diagnostics" WHERE "serverId" = $1 ORDER BY "seq" DESC', [serverId]);
}
