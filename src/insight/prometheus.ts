import * as z from 'zod';
import { type Operation, operation } from '../http/operation.ts';

/** Returns figures in Prometheus' text format. */
export interface Exposition {
  expose(): Promise<string>;
  readonly contentType: string;
}

/**
 * `GET /metrics`, for operators only, because the figures reveal the number of players and the amount of money. By
 * default, Prometheus sends credentials as Bearer tokens
 * (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config).
 */
export const prometheusOperations = ({ telemetry }: { telemetry: Exposition }): readonly Operation[] => [
  operation({
    id: 'Metrics',
    method: 'get',
    path: '/metrics',
    scope: 'operator',
    bearerKey: true,
    routine: true,
    tag: 'operator',
    summary: 'Metrics for Prometheus',
    description: 'In the Prometheus text format.',
    answers: 'text',
    reply: z.string(),
    run: async () => ({ type: telemetry.contentType, text: await telemetry.expose() }),
  }),
];
