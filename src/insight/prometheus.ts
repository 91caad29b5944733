import * as z from 'zod';
import { type Operation, operation } from '../http/operation.ts';

/** Figures in Prometheus' text format. */
export interface Exposition {
  expose(): Promise<string>;
  readonly contentType: string;
}

/**
 * `GET /metrics`, for operators: the figures say how many players and how much money there is. Prometheus sends credentials by
 * itself only as Bearer tokens (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config).
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
    summary: 'Figures for Prometheus',
    description: 'In its text format.',
    answers: 'text',
    reply: z.string(),
    run: async () => ({ type: telemetry.contentType, text: await telemetry.expose() }),
  }),
];
