import type { Router } from '@koa/router';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { json, publicGet } from './openapi.ts';

/** Parts the service needs in order to serve; each check resolves while its part works, and rejects otherwise. */
export type Readiness = Record<string, () => Promise<unknown>>;

/** A part that does not answer within this is not ready. */
const CHECK_MS = 2_000;
/** Answers are kept this long, so that anybody may ask as often as they like. */
const KEPT_MS = 1_000;

interface ReadyAnswer {
  ready: boolean;
  parts: Record<string, 'ok' | 'unavailable'>;
}

/**
 * `GET /healthz`: the process answers. `GET /readyz`: 200 when every part is ready, else 503; which ones are not, without
 * the reason, as neither asks for a credential.
 */
export function mountHealth(router: Router, readiness: Readiness, clock: Clock): void {
  /** One check at a time, and its answer for a while. */
  const answers = createCache<ReadyAnswer>({ most: 1, ttlMs: () => KEPT_MS });
  const ready = () => answers.get('', clock.now(), () => checkAll(readiness, clock));
  router.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const answer = await ready();
    ctx.status = answer.ready ? 200 : 503;
    ctx.body = answer;
  });
}

async function checkAll(readiness: Readiness, clock: Clock): Promise<ReadyAnswer> {
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

/** As OpenAPI paths. */
export function healthPaths(): Record<string, Record<string, unknown>> {
  return {
    '/healthz': publicGet(
      'Health',
      'The process answers',
      'Asks no part of the service, so that it says nothing of them.',
    ),
    '/readyz': publicGet(
      'Readiness',
      'Every part of the service works',
      'Says part by part which does and which does not.',
      { '503': { description: 'At least one part does not.', ...json({ type: 'object' }) } },
    ),
  };
}
