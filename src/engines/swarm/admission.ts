import type { Logger } from 'pino';
import { EngineError } from '../engine.ts';
import { NO_REGION } from '../regions.ts';
import type { Manager, NodeInfo } from './manager.ts';
import { REGION_LABEL, filesLabel } from './service-spec.ts';

/**
 * Checks which nodes see the servers' folder. Returns undefined for those that do, and the problem for the others.
 * Omits nodes that no longer respond.
 */
export type CheckFiles = (nodeIds: readonly string[]) => Promise<Map<string, string | undefined>>;

/** Decides on which nodes games may start: those that see the servers' folder. */
export interface Admission {
  /**
   * Lets games start on those of these nodes that see the folder, and on no others. `new`: checks only nodes not yet
   * found to see it. A node is checked once, and again after a while if it did not see the folder. Rejects with
   * EngineError if games cannot start on any.
   */
  admit(nodes: readonly NodeInfo[], which: 'new' | 'all'): Promise<void>;
  /** Discards the result of a node's check, because it may be outdated. */
  doubt(id: string): void;
  /** Returns why no game starts on a responding node; '' if games may. */
  troubleOf(node: NodeInfo): string;
}

/** Time until a node that did not share the servers' folder is checked again. */
const RECHECK_MS = 30_000;

/** `checkFiles` absent: all nodes count as seeing the servers' folder. */
export function createAdmission({
  manager,
  installation,
  checkFiles,
  log,
}: {
  manager: Manager;
  installation: string;
  checkFiles: CheckFiles | undefined;
  log: Logger;
}): Admission {
  /** When this process last checked each node's folder; Infinity if it was shared. */
  const checked = new Map<string, number>();
  /** Why nodes do not share the servers' folder, by node. */
  const unshared = new Map<string, string>();
  const label = filesLabel(installation);
  let checking = false;

  const isKeptFree = ({ Spec: spec }: NodeInfo) => spec.Labels?.[REGION_LABEL] === NO_REGION;
  const isLabelled = ({ Spec: spec }: NodeInfo) => spec.Labels?.[label] !== undefined;
  const isAdmitted = (node: NodeInfo) =>
    checked.get(node.ID) === Infinity || (isLabelled(node) && !unshared.has(node.ID));

  async function set(
    { ID: id, Description: { Hostname: name } }: NodeInfo,
    trouble: string | undefined,
  ): Promise<void> {
    checked.set(id, trouble === undefined ? Infinity : performance.now());
    if (trouble === undefined) unshared.delete(id);
    else {
      unshared.set(id, trouble);
      log.error({ node: name }, `games cannot start on ${name}, which does not share the servers' folder: ${trouble}`);
    }
    await manager.updateNode(id, (spec) => {
      const { [label]: _, ...others } = spec.Labels ?? {};
      return { ...spec, Labels: trouble === undefined ? { ...others, [label]: 'shared' } : others };
    });
  }

  return {
    async admit(nodes, which) {
      const free = nodes.filter((node) => !isKeptFree(node));
      // Swarm runs no check on a drained node.
      const due = free.filter(
        ({ ID: id, Spec }) =>
          Spec.Availability === 'active' && performance.now() - (checked.get(id) ?? -Infinity) > RECHECK_MS,
      );
      const candidates = which === 'all' ? due : due.filter((node) => !isLabelled(node));
      if (checking || candidates.length === 0) return;
      checking = true;
      try {
        const ids = candidates.map(({ ID: id }) => id);
        const found = await (checkFiles?.(ids) ?? new Map(ids.map((id) => [id, undefined])));
        for (const node of candidates) if (found.has(node.ID)) await set(node, found.get(node.ID));
        const first = candidates.find(({ ID: id }) => unshared.has(id));
        if (first === undefined || free.some(isAdmitted)) return;
        const why = `${first.Description.Hostname}: ${unshared.get(first.ID)}`;
        throw new EngineError('unknown', `No node shares the servers' folder (${why}).`, {
          suggestion: 'Mount DATA_DIR/servers on this machine and on every node, at the same path.',
        });
      } finally {
        checking = false;
      }
    },

    doubt: (id) => void checked.delete(id),

    troubleOf(node) {
      if (isKeptFree(node)) return `Games do not start on nodes with the label ${REGION_LABEL}=${NO_REGION}.`;
      if (checkFiles === undefined || isLabelled(node)) return '';
      const trouble = unshared.get(node.ID);
      if (trouble === undefined) return 'The service has not checked yet whether this node shares the servers’ folder.';
      return `It does not share the servers’ folder: ${trouble}`;
    },
  };
}
