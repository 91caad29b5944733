import * as z from 'zod';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';

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
export const Metrics = operation({
  id: 'Metrics',
  method: 'get',
  path: '/metrics',
  auth: 'key',
  scope: 'operator',
  bearerKey: true,
  routine: true,
  summary: 'Metrics for Prometheus',
  description: 'In the Prometheus text format.',
  answers: 'text',
  reply: z.string(),
});

export const prometheusOperations = ({ telemetry }: { telemetry: Exposition }): readonly Served[] => [
  serve(Metrics, async () => ({ type: telemetry.contentType, text: await telemetry.expose() })),
];
