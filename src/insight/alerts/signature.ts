import { createHmac } from 'node:crypto';
import type { WebhookRow } from '../../notices/rows.ts';
import { DAY_MS, SECOND_MS } from '../../kernel/units.ts';
import type { Secret } from '../../store/secret.ts';

/** How long the secret before a rotation still signs messages, besides the new one. */
const OVERLAP_MS = DAY_MS;

/** Returns the nth signing secret of a webhook. Secrets are derived, so that none is stored. */
export type SecretOf = (webhookId: string, nth: number) => string;

export function createSecretOf(secret: Secret): SecretOf {
  return (webhookId, nth) => `whsec_${secret.derive('webhook', `${webhookId}/${nth}`)}`;
}

/** The secrets of a message's webhook. All are null for an alert, which is not signed. */
interface Signer extends Nullable<Pick<WebhookRow, 'secretNth'>> {
  webhookId: string | null;
  rotatedAt: number | null;
}

type Nullable<T> = { [Key in keyof T]: T[Key] | null };

/**
 * Returns the function that signs a message's text, as Stripe does (https://docs.stripe.com/webhooks#verify-manually):
 * `t=…,v1=…`, the HMAC-SHA256 of time and text. After a rotation, a second `v1` is from the secret before.
 */
export function createSignature(
  { webhookId, secretNth, rotatedAt }: Signer,
  secretOf: SecretOf,
  now: number,
): ((payload: string) => string) | undefined {
  if (webhookId === null || secretNth === null) return undefined;
  const isOverlapping = rotatedAt !== null && now < rotatedAt + OVERLAP_MS;
  const secrets = [secretNth, ...(isOverlapping ? [secretNth - 1] : [])].map((nth) => secretOf(webhookId, nth));
  const t = Math.floor(now / SECOND_MS);
  return (payload) => {
    const signed = secrets.map((secret) => createHmac('sha256', secret).update(`${t}.${payload}`).digest('hex'));
    return [`t=${t}`, ...signed.map((each) => `v1=${each}`)].join(',');
  };
}
