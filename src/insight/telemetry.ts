import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { type TelemetrySources, registerCollected } from './collected.ts';

interface AnsweredRequest {
  /** The route as declared (`/v1/servers/{id}:start`), never the path from the caller; '' if none matches. */
  route: string;
  method: string;
  status: number;
  ms: number;
}

/** The counted part of a step of a server's machine. */
interface CountedStep {
  from: string;
  to: string;
  cause: { kind: string; id: string };
}

/**
 * This process's metrics for Prometheus, in their own registry. Labels only have values from the program, so that
 * clients cannot create series.
 */
export interface Telemetry {
  answered: (request: AnsweredRequest) => void;
  /** Counts starts and crashes; `startMs` is the duration of a start that has finished. */
  stepped: (step: CountedStep, startMs: number | null) => void;
  /** Counts a wake that a rule refused; `reason` is the stable reason of its error. */
  refusedWake: (reason: string) => void;
  /** Sets the sources of the figures that are read at each scrape. */
  watch(sources: TelemetrySources): void;
  /** All figures in Prometheus' text format, whose media type is `contentType`. */
  expose(): Promise<string>;
  readonly contentType: string;
}

const START_SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600];
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']);
/** How often the event loop's delay is sampled, by a timer. */
const LOOP_MS = 50;

/** Gauges of prom-client that are named like counters. Prometheus can sum up the gauges behind them. */
const SUMS = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createTelemetry(): Telemetry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_MS });
  for (const name of SUMS) registry.removeSingleMetric(name);

  const requests = new Counter({
    name: 'dormouse_http_requests_total',
    help: 'Calls of the API and of pages, by route, method and HTTP status.',
    labelNames: ['route', 'method', 'code'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'dormouse_http_request_duration_seconds',
    help: 'Time from the first byte of a call to its response; for streams, to their beginning.',
    labelNames: ['route', 'method'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const starts = new Counter({
    name: 'dormouse_starts_total',
    help: 'Starts of servers, by cause and outcome: ready, failed, called_off.',
    labelNames: ['cause', 'outcome'],
    registers,
  });
  const startSeconds = new Histogram({
    name: 'dormouse_start_duration_seconds',
    help: 'Time from the wake of a server until it accepts players.',
    buckets: START_SECONDS,
    registers,
  });
  const refusals = new Counter({
    name: 'dormouse_wake_refusals_total',
    help: 'Wakes that a rule refused, by the reason of the error.',
    labelNames: ['reason'],
    registers,
  });
  const crashes = new Counter({
    name: 'dormouse_crashes_total',
    help: 'Running servers that ended unexpectedly.',
    registers,
  });

  return {
    contentType: registry.contentType,
    answered({ route: given, method: used, status, ms }) {
      const route = given === '' ? 'other' : given;
      const method = METHODS.has(used) ? used : 'OTHER';
      requests.inc({ route, method, code: status });
      requestSeconds.observe({ route, method }, ms / 1_000);
    },
    stepped({ from, to, cause }, startMs) {
      if (from === to) return;
      if (from === 'starting') starts.inc({ cause: cause.kind, outcome: OUTCOMES[to] ?? 'called_off' });
      if (from === 'starting' && to === 'running' && startMs !== null) startSeconds.observe(startMs / 1_000);
      if (from === 'running' && (to === 'start_failed' || cause.id === 'crash')) crashes.inc();
    },
    refusedWake: (reason) => refusals.inc({ reason }),
    watch: (sources) => registerCollected(registry, sources),
    expose: () => registry.metrics(),
  };
}

const OUTCOMES: Record<string, string> = { running: 'ready', start_failed: 'failed' };
