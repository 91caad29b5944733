import type { IncomingHttpHeaders } from 'node:http';
import type { Router } from '@koa/router';
import type { Authorize } from '../http/auth.ts';

/** Figures in Prometheus' text format. */
export interface Exposition {
  expose(): Promise<string>;
  readonly contentType: string;
}

/** What whoever reads the figures needs: they say how many players and how much money there is. */
const ACCESS = { scope: 'operator', method: 'get' } as const;
const BEARER_KEY = /^Bearer +(dmk_\w+)$/i;

/**
 * `GET /metrics` for an operator's API key, in `x-api-key` or, as Prometheus sends credentials by itself, as a Bearer token
 * (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config).
 */
export function mountPrometheus(router: Router, figures: Exposition, authorize: Authorize): void {
  router.get('/metrics', async (ctx) => {
    await authorize(withKey(ctx.headers), ACCESS);
    ctx.body = await figures.expose();
    ctx.set('Content-Type', figures.contentType);
  });
}

function withKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const [, key] = BEARER_KEY.exec(headers.authorization ?? '') ?? [];
  return key === undefined || headers['x-api-key'] !== undefined ? headers : { 'x-api-key': key };
}

/** As an OpenAPI path. */
export function prometheusPaths(): Record<string, Record<string, unknown>> {
  return {
    '/metrics': {
      get: {
        operationId: 'Metrics',
        tags: ['operator'],
        summary: 'Figures for Prometheus',
        description:
          'In its text format. Needs the scope `operator`; the API key may also be sent as a Bearer token, as Prometheus does.',
        'x-required-scope': 'operator',
        responses: {
          '200': { description: 'Done.', content: { 'text/plain': { schema: { type: 'string' } } } },
          default: { $ref: '#/components/responses/Error' },
        },
      },
    },
  };
}
