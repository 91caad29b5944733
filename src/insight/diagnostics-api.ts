import * as z from 'zod';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { type DiagnosticRow, type StoredInsight, listDiagnostics } from '../servers/diagnostics.ts';
import type { Shared } from '../servers/shared.ts';

const Insight = z
  .object({
    code: reply.text.describe('As in `startErrorCode` and `installErrorCode`.'),
    subject: reply.text.describe('The mod, plugin, file or version concerned; empty without one.'),
    summary: reply.text.describe('Title, then detail.'),
    suggestion: reply.text,
    evidence: z.array(z.string()).default([]).describe('The lines of the log that show it, at most five.'),
  })
  .meta({ id: 'Insight' });

const Diagnostic = z
  .object({
    at: reply.timestamp,
    kind: reply.text.describe('`install`, `start`, `crash` or `stop`.'),
    code: reply.text.describe('As in `startErrorCode` and `installErrorCode`.'),
    summary: reply.text.describe('Title, then detail.'),
    suggestion: reply.text,
    evidence: z.array(z.string()).default([]).describe('The lines of the log around the cause.'),
    insights: z
      .array(Insight)
      .default([])
      .describe(
        'All findings in the log, most important first: each missing mod, for example. Empty without findings.',
      ),
  })
  .meta({ id: 'Diagnostic' });

export const ListDiagnostics = operation({
  id: 'ListDiagnostics',
  method: 'get',
  path: '/v1/servers/{id}/diagnostics',
  scope: 'servers:read',
  role: 'limited',
  auth: 'key',
  section: 'Console, logs and insight',
  summary: 'List past failures',
  description: 'The last 50 failed installs and starts, crashes and forced stops, newest first, with suggestions.',
  params: ServerParams,
  reply: z.object({ entries: z.array(Diagnostic).default([]) }).meta({ id: 'DiagnosticList' }),
});

function diagnosticView({ evidence, insights, ...row }: DiagnosticRow): z.input<typeof Diagnostic> {
  const { at, kind, code, summary, suggestion } = row;
  const lines = evidence === '' ? [] : evidence.split('\n');
  return { at, kind, code, summary, suggestion, evidence: lines, insights: JSON.parse(insights) as StoredInsight[] };
}

export const diagnosticOperations = ({ serveServer, store }: Shared): readonly Served[] => [
  serveServer(ListDiagnostics, async ({ params }) => ({
    entries: (await listDiagnostics(store, params.id)).map(diagnosticView),
  })),
];
