import type { Logger } from 'pino';
import { EngineError } from '../engine.ts';
import { NO_REGION } from '../regions.ts';
import type { Manager, NodeInfo } from './manager.ts';
import { REGION_LABEL, filesLabel } from './service-spec.ts';

/** Which nodes see the servers' folder, and what is wrong on the others; says nothing of one that does not answer any more. */
export type CheckFiles = (nodeIds: readonly string[]) => Promise<Map<string, string | undefined>>;

/** Which nodes games may start on: those that see the servers' folder. */
export interface Admission {
  /**
   * Lets games start on those of these nodes that see the folder, and on no others. `new`: asks only nodes not yet
   * found to see it. Each is asked once, and again if it did not. Rejects with EngineError if games cannot start on
   * any.
   */
  admit(nodes: readonly NodeInfo[], which: 'new' | 'all'): Promise<void>;
  /** Whatever was found out about a node may have changed. */
  doubt(id: string): void;
  /** Why no game starts on a node that answers; '' where some may, or where it is drained. */
  troubleOf(node: NodeInfo): string;
}

/** After this a node that did not share the servers' folder is asked again. */
const RECHECK_MS = 30_000;

/** `checkFiles` absent: all nodes see it. */
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
  /** Nodes whose folder has been checked since this process began, and when; Infinity: it was there. */
  const checked = new Map<string, number>();
  /** Why nodes do not share the servers' folder. */
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
      log.error({ node: name }, `no games start on ${name}, which does not share the servers' folder: ${trouble}`);
    }
    await manager.updateNode(id, (spec) => {
      const { [label]: _, ...others } = spec.Labels ?? {};
      return { ...spec, Labels: trouble === undefined ? { ...others, [label]: 'shared' } : others };
    });
  }

  return {
    async admit(nodes, which) {
      const free = nodes.filter((node) => !isKeptFree(node));
      // Swarm starts no check on a node that is drained.
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
        throw new EngineError('unknown', `No node shares the servers' folder; ${why}.`, {
          suggestion: 'Mount DATA_DIR/servers on this machine and on every node, at the same path.',
        });
      } finally {
        checking = false;
      }
    },

    doubt: (id) => void checked.delete(id),

    troubleOf(node) {
      if (isKeptFree(node)) return `It is kept free of games (${REGION_LABEL}=${NO_REGION}).`;
      if (checkFiles === undefined || isLabelled(node)) return '';
      const trouble = unshared.get(node.ID);
      if (trouble === undefined) return 'Whether it shares the servers’ folder has not been found out yet.';
      return `It does not share the servers’ folder: ${trouble}`;
    },
  };
}
