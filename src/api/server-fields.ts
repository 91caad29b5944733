import { SANDBOX } from '../hosting/container.ts';
import { OWNED_PROPERTIES } from '../hosting/properties.ts';
import { quotaExceeded } from './errors.ts';
import type { FieldViolation } from './errors.ts';
import type { Services } from './services.ts';

const PROPERTY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MOST_PROPERTIES = 128;
/** Less than this no game of the kind ever starts with. */
const LEAST_RAM_MB = { sandbox: 128, java: 512 };

/** Properties an owner may set: no names of Dormouse's own, and nothing that would begin another line of the file. */
export function* checkProperties(properties: Record<string, string>): Generator<FieldViolation> {
  const entries = Object.entries(properties);
  if (entries.length > MOST_PROPERTIES) {
    yield { field: 'properties', description: `must have at most ${MOST_PROPERTIES} entries` };
    return;
  }
  for (const [key, value] of entries) {
    const field = `properties.${key}`;
    if (!PROPERTY.test(key)) yield { field: 'properties', description: 'holds a key that is no property name' };
    else if (OWNED_PROPERTIES.has(key)) yield { field, description: 'is set by the service itself' };
    else if (/\p{Cc}/u.test(value)) yield { field, description: 'must not contain control characters' };
  }
}

export function* checkPlan(plan: string): Generator<FieldViolation> {
  if (plan !== 'metered' && plan !== 'flat') yield { field: 'plan', description: 'must be metered or flat' };
}

/** RAM a game of the type can run in. Throws MAX_RAM above what its account may have, NODE_CAPACITY above what is there. */
export function* checkRam(
  { accountId, type, ramMb }: { accountId: string; type: string; ramMb: number },
  { accountLimits, capacity, config: { nodeLabel } }: Pick<Services, 'accountLimits' | 'capacity' | 'config'>,
): Generator<FieldViolation> {
  const least = type === SANDBOX ? LEAST_RAM_MB.sandbox : LEAST_RAM_MB.java;
  if (ramMb < least) yield { field: 'ramMb', description: `must be at least ${least}` };
  const { maxRamMb } = accountLimits.of(accountId);
  if (ramMb > maxRamMb) {
    throw quotaExceeded('MAX_RAM', `account:${accountId}`, `An account may have ${maxRamMb} MB of RAM.`, {
      limitMb: String(maxRamMb),
    });
  }
  const { ramUsableMb } = capacity.now();
  if (ramMb > ramUsableMb) {
    const message = `${nodeLabel} has ${ramUsableMb} MB of RAM for games: a server of ${ramMb} MB could never wake.`;
    throw quotaExceeded('NODE_CAPACITY', `node:${nodeLabel}`, message, { node: nodeLabel, resource: 'RAM' });
  }
}
