import { StatusError } from '../kernel/status.ts';
import type { WakeRule } from './wake-checks.ts';

/**
 * Refuses a start over the API with UNAVAILABLE NODE_UNREACHABLE while this node's engine does not answer. A joining
 * player is held until it is back. Read-only checks skip this rule, because they would wait for an engine that hangs.
 */
export function requireEngine(nodeLabel: string, engine: { reachable(): Promise<boolean> }): WakeRule {
  const check: WakeRule['check'] = async (_, batchRead) => {
    if (batchRead !== undefined || (await engine.reachable())) return () => {};
    const message = `${nodeLabel} is unreachable, so starts are paused. Try again in a moment.`;
    throw new StatusError('UNAVAILABLE', 'NODE_UNREACHABLE', message, {
      metadata: { node: nodeLabel },
      retryAfterSeconds: 2,
    });
  };
  return { check, commands: ['START', 'RESTART'] };
}
