import type { Failure } from '../../machines/server-types.ts';
import type { EngineNodes } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import { sleep } from '../kernel/sleep.ts';
import type { GameAccess } from './effect-host.ts';
import { GameEnded } from './readiness.ts';

const LOOK_MS = 1_000;

/** The starting game's machine is off. The game itself has not failed and can start elsewhere. */
export class MachineGone extends Error {
  readonly failure: Failure;
  constructor(node: string) {
    super(`${node} failed while the game was starting there`);
    this.name = 'MachineGone';
    const summary = `Machine lost: ${node} failed while the server was starting there.`;
    this.failure = { code: 'node_lost', summary, suggestion: 'It starts again on another machine.', raw: '' };
  }
}

/**
 * Settles like `start`. Rejects with MachineGone if the game's node has gone and no longer runs it: because it is
 * marked as off, or is back without the game. Until then no conclusion is drawn and `start` continues.
 */
export async function onItsNode<T>(
  { engine, clock }: GameAccess,
  id: string,
  signal: AbortSignal,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { nodes } = engine;
  if (nodes === undefined) return await start(signal);
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const node = followNode(nodes, id);
  const starting = start(within);

  async function untilGone(): Promise<never> {
    for (;;) {
      await sleep(clock, LOOK_MS, within);
      if (!node.wasAway() || lostGame(nodes, id)) continue;
      const isUp = await engine.inspect(id).then(
        (game) => game?.up === true,
        () => undefined,
      );
      if (isUp) node.isThere();
      else if (isUp === false) throw new MachineGone(node.name());
    }
  }

  try {
    return await Promise.race([starting, untilGone()]);
  } catch (error) {
    if (error instanceof GameEnded && !signal.aborted && node.wasAway()) throw new MachineGone(node.name());
    throw error;
  } finally {
    over.abort();
    // No part of this start may continue beside the next one.
    await starting.catch(() => {});
  }
}

interface FollowedNode {
  /** Whether the node was unresponsive at some time since it was last seen with the game. */
  wasAway(): boolean;
  /** Records that the node runs the game. */
  isThere(): void;
  name(): string;
}

/** Follows a node once it has been seen ready, because the node of an earlier run may have been off for long. */
function followNode(nodes: EngineNodes, serverId: string): FollowedNode {
  let last: { id: string; name: string } | undefined;
  let away = false;

  function check(): void {
    const now = nodes.whereIs(serverId);
    if (now?.state === 'ready' || (now && lostGame(nodes, serverId))) last = { id: now.id, name: now.name };
    if (last !== undefined) away ||= nodes.list().find(({ id }) => id === last?.id)?.state !== 'ready';
  }

  return {
    wasAway() {
      check();
      return away;
    },
    isThere: () => void (away = false),
    name: () => last?.name ?? 'its machine',
  };
}
