import type { Logger } from 'pino';
import { createMutex } from '../../kernel/mutex.ts';
import type { EngineNode } from '../engine.ts';
import type { NodeInfo } from './manager.ts';
import { type Task, isOver } from './task.ts';

/** The stored record of a node. It survives restarts, and the node's removal from the swarm. */
export interface NodeNote {
  name: string;
  address: string;
  /** When the node was last certainly off, in epoch ms, only for display; null if it is not. */
  fencedAt: number | null;
  /**
   * Ids of the tasks on the node at that time. They no longer run, whatever Swarm shows. No clock could identify them.
   */
  off: string[];
}

/** Notes by node id. */
export type NodeNotes = Record<string, NodeNote>;

/** The store of notes. `write` rejects if another process may have taken over. */
export interface FenceNotes {
  read(): Promise<NodeNotes>;
  write(notes: NodeNotes): Promise<void>;
}

/**
 * Switches a node off. Resolves to whether it is certainly off. `signal` fires if the node is back and must stay on.
 */
export type FenceNode = (node: Pick<EngineNode, 'id' | 'name' | 'address'>, signal: AbortSignal) => Promise<boolean>;

/** Records which nodes are or were certainly off, and with which tasks. */
export interface Fences {
  /** Returns a node as it was last seen. */
  known(id: string): Pick<NodeNote, 'name' | 'address'> | undefined;
  fencedAt(id: string): number | null;
  /** Returns when the node of a task was switched off while the task was on it; undefined if it was not. */
  offAt(task: Task): number | undefined;
  /** Updates the notes to the swarm's current state, and removes those of nodes that are gone with all their tasks. */
  heed(nodes: ReadonlyMap<string, NodeInfo>, tasks: readonly Task[]): Promise<void>;
  /** Records that a node is certainly off, with these tasks on it. Takes effect once it is stored. */
  fence(id: string, tasks: readonly Task[]): Promise<void>;
  /** Resolves if only this process may act: the database then accepts no writes of another process. */
  requireSole(): Promise<void>;
}

/** Rejects if the notes cannot be read. */
export async function openFences({ notes, log }: { notes: FenceNotes; log: Logger }): Promise<Fences> {
  let kept = await notes.read();
  let stored = JSON.stringify(kept);
  /** Each write contains all notes, so writes must not overtake each other. */
  const withLock = createMutex();

  async function write(next: NodeNotes): Promise<void> {
    await notes.write(next);
    stored = JSON.stringify(next);
  }

  /** Returns the new note of a node; undefined if the node is gone with all its tasks. */
  function noteOf(id: string, node: NodeInfo | undefined, tasks: readonly Task[]): NodeNote | undefined {
    const before = kept[id];
    const present = new Set(tasks.flatMap(({ ID, NodeID }) => (NodeID === id ? [ID] : [])));
    if (node === undefined && present.size === 0) return undefined;
    const off = (before?.off ?? []).filter((task) => present.has(task));
    const isBack = node?.Status.State === 'ready' && off.length === 0;
    return {
      name: node?.Description.Hostname ?? before?.name ?? '',
      address: node?.Status.Addr ?? before?.address ?? '',
      fencedAt: isBack ? null : (before?.fencedAt ?? null),
      off,
    };
  }

  return {
    known: (id) => kept[id],
    fencedAt: (id) => kept[id]?.fencedAt ?? null,
    offAt: ({ ID: task, NodeID: id = '' }) => (kept[id]?.off.includes(task) ? (kept[id].fencedAt ?? 0) : undefined),

    heed: (nodes, tasks) =>
      withLock(async () => {
        const ids = new Set([...Object.keys(kept), ...nodes.keys()]);
        const entries = [...ids].map((id) => [id, noteOf(id, nodes.get(id), tasks)] as const);
        kept = Object.fromEntries(entries.flatMap(([id, note]) => (note === undefined ? [] : [[id, note]])));
        if (JSON.stringify(kept) === stored) return;
        // The next check tries again. Only the name of a removed node depends on this write.
        await write(kept).catch((err: unknown) => log.debug({ err }, 'could not store the state of the nodes'));
      }),

    fence: (id, tasks) =>
      withLock(async () => {
        const running = tasks.filter((task) => !isOver(task)).map(({ ID }) => ID);
        const { name, address, off } = kept[id] ?? { name: '', address: '', off: [] };
        const note = { name, address, fencedAt: Date.now(), off: [...new Set([...off, ...running])] };
        const next = { ...kept, [id]: note };
        await write(next);
        kept = next;
      }),

    requireSole: () => withLock(() => write(kept)),
  };
}
