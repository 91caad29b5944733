import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Logger } from 'pino';
import { LABEL } from './container.ts';
import { jsonLines, openStream } from './streams.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

/** One event of one of our containers (Docker Engine API, "Monitor events"). */
export interface ContainerEvent {
  action: string;
  containerId: string;
  labels: Record<string, string>;
  /** Epoch ms. */
  at: number;
}

/**
 * Receives the events of a watch, one at a time and in order. `away`: the engine is lost. `missed`: the engine is
 * connected, and earlier events may have been missed.
 */
export type ContainerListener = (event: ContainerEvent | 'away' | 'missed') => Promise<void>;

/**
 * Listens to the engine's events about one installation's containers until the returned function is called. Sends
 * `missed` at the beginning and after each reconnection. Waits up to 10 s between attempts. Never throws.
 */
export function watchContainers(
  docker: Docker,
  installation: string,
  log: Logger,
  listener: ContainerListener,
): () => void {
  const stop = new AbortController();

  async function once(connected: () => void): Promise<void> {
    const stream = await openStream(
      docker.getEvents({ ...filters(installation), abortSignal: stop.signal }),
      stop.signal,
    );
    try {
      connected();
      await listener('missed');
      for await (const line of jsonLines(stream)) await listener(containerEvent(line));
    } finally {
      stream.destroy();
      if (!stop.signal.aborted) await listener('away');
    }
  }

  async function run(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!stop.signal.aborted) {
      try {
        await once(() => (pauseMs = FIRST_PAUSE_MS));
      } catch (err) {
        if (!stop.signal.aborted) log.debug({ err }, 'the event stream of the Docker Engine was interrupted');
      }
      await sleep(pauseMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  void run();
  return () => stop.abort();
}

function filters(installation: string): Docker.GetEventsOptions {
  return {
    filters: {
      type: ['container'],
      event: ['start', 'die', 'oom', 'destroy'],
      label: [`${LABEL.installation}=${installation}`],
    },
  };
}

function containerEvent(line: Record<string, unknown>): ContainerEvent {
  const { Action, Actor, timeNano } = line as {
    Action: string;
    Actor: { ID: string; Attributes: Record<string, string> };
    timeNano: number;
  };
  return { action: Action, containerId: Actor.ID, labels: Actor.Attributes, at: Math.floor(timeNano / 1e6) };
}
