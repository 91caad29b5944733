import * as z from 'zod';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { operation } from './operation.ts';
import { type Served, serve } from './serve.ts';

/** The parts that the service needs. Each check resolves if its part works and rejects otherwise. */
export type Readiness = Record<string, () => Promise<unknown>>;

/** Time limit of a check. A slower part is not ready. */
const CHECK_MS = 2_000;
/** How long an answer is cached, so that frequent requests cost nothing. */
const KEPT_MS = 1_000;

const ReadyReply = z.object({
  ready: z.boolean(),
  parts: z.record(z.string(), z.enum(['ok', 'unavailable'])),
  reason: z.string().optional().describe('Why a standby is not ready. Absent unless the service is a standby.'),
});
type Ready = z.output<typeof ReadyReply>;

export const Health = operation({
  id: 'Health',
  method: 'get',
  path: '/healthz',
  auth: 'none',
  summary: 'The process answers',
  description: 'Checks no part of the service.',
  reply: z.object({ status: z.string() }),
});

export const GetReadiness = operation({
  id: 'Readiness',
  method: 'get',
  path: '/readyz',
  auth: 'none',
  summary: 'Every part of the service works',
  description:
    'Reports the state of each part. On a standby, the only part is `lease`, which is `unavailable`, and ' +
    '`reason` explains why.',
  reply: ReadyReply,
  also: { '503': { description: 'At least one part is unavailable.', reply: ReadyReply } },
});

/**
 * Operations that report whether the process is alive and whether its parts are ready. They name failed parts without
 * the reason, because they require no authentication.
 */
export function healthOperations(readiness: Readiness, clock: Clock): readonly Served[] {
  /** Runs one check at a time and caches its answer. */
  const answers = createCache<Ready>({ most: 1, ttlMs: () => KEPT_MS });
  return [
    serve(Health, async () => ({ status: 'ok' })),
    serve(GetReadiness, async ({ response }) => {
      const answer = await answers.get('', clock.now(), () => checkAll(readiness, clock));
      response.status = answer.ready ? 200 : 503;
      return answer;
    }),
  ];
}

async function checkAll(readiness: Readiness, clock: Clock): Promise<Ready> {
  const parts = Object.fromEntries(
    await Promise.all(
      Object.entries(readiness).map(async ([name, check]) => [name, await outcome(check, clock)] as const),
    ),
  );
  return { ready: Object.values(parts).every((part) => part === 'ok'), parts };
}

async function outcome(check: () => Promise<unknown>, clock: Clock): Promise<'ok' | 'unavailable'> {
  try {
    await withTimeout(check(), CHECK_MS, { clock });
    return 'ok';
  } catch {
    return 'unavailable';
  }
}
