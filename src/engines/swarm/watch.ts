import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Logger } from 'pino';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import { LABEL } from '../docker/container.ts';
import { type ContainerEvent, watchContainers } from '../docker/watch.ts';
import type { EngineEvent } from '../engine.ts';
import type { Agents } from './agents.ts';
import type { SwarmNodes } from './nodes.ts';
import type { Services } from './services.ts';

/** Interval between checks of the nodes. */
const LOOK_MS = 2_000;
/** A node whose agent does not respond delays the beginning no longer than this. */
const FIRST_MS = 10_000;

export interface SwarmWatch {
  agents: Agents;
  nodes: SwarmNodes;
  services: Services;
  installation: string;
  log: Logger;
  /** Converts a container's event; undefined if it does not matter. Called one at a time for each server. */
  toEvent: (event: ContainerEvent) => Promise<EngineEvent | undefined>;
  /** Called with a node whose agent reports its games from now on. */
  reached: (nodeId: string) => void;
  /** Called immediately with each event of a server. */
  observe: (event: ContainerEvent) => void;
}

/**
 * Reports games on all nodes until the returned function is called: `away` while no manager responds, `resync` at the
 * beginning, whenever a manager or a node is back, and once a node has been fenced. Never throws. `listener` must not throw either.
 */
export function watchSwarm(parts: SwarmWatch, listener: (event: EngineEvent) => void): () => void {
  const { agents, nodes, services, installation, log } = parts;
  const stop = new AbortController();
  const streams = new Map<string, { docker: Docker; end: () => void; isOpen: boolean }>();
  const withLock = createKeyedMutex();
  const began = performance.now();
  let isAway: boolean | undefined;
  let hasBegun = false;

  function emit(event: EngineEvent): void {
    if (!stop.signal.aborted) listener(event);
  }

  async function onEvent(event: ContainerEvent): Promise<void> {
    parts.observe(event);
    const translated = await parts.toEvent(event).catch((err: unknown) => {
      log.debug({ err }, 'could not process an event');
      return { type: 'resync' } as const;
    });
    if (translated) emit(translated);
  }

  async function follow(id: string): Promise<void> {
    const docker = await agents.on(id);
    const before = streams.get(id);
    if (before?.docker === docker) return;
    // A restarted agent has another address.
    before?.end();
    const stream = { docker, end: () => {}, isOpen: false };
    stream.end = watchContainers(docker, installation, log, async (event) => {
      if (event === 'away') stream.isOpen = false;
      else if (event === 'missed') {
        stream.isOpen = true;
        parts.reached(id);
        if (hasBegun) emit({ type: 'resync' });
      } else void withLock(event.labels[LABEL.server] ?? '', () => onEvent(event));
    });
    streams.set(id, stream);
  }

  async function check(): Promise<void> {
    const news = await nodes.refresh();
    nodes
      .admitNodes('all')
      .catch((err: unknown) => log.error({ err }, 'could not make sure that games can start on a node'));
    for (const task of nodes.strays())
      services
        .endStray(task)
        .catch((err: unknown) => log.warn({ err }, 'could not end a game that came back with its node; trying again'));
    const present = new Set(await agents.nodes());
    const ready = nodes.ready();
    for (const [id, { end }] of streams) {
      if (present.has(id) && ready.includes(id)) continue;
      end();
      streams.delete(id);
    }
    for (const id of present) if (ready.includes(id)) await follow(id);
    const all = ready.every((id) => streams.get(id)?.isOpen);
    const begins = !hasBegun && (all || performance.now() - began > FIRST_MS);
    hasBegun ||= begins;
    if (hasBegun && (begins || isAway || news)) emit({ type: 'resync' });
    isAway = false;
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await check().catch((err: unknown) => {
        log.debug({ err }, 'the managers of the swarm do not respond');
        if (isAway === false) emit({ type: 'away' });
        isAway = true;
      });
      const pause = hasBegun ? LOOK_MS : 100;
      await sleep(pause, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
    }
    for (const { end } of streams.values()) end();
  }

  void run();
  return () => stop.abort();
}
