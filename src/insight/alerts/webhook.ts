import { type LookupAddress, lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { type LookupFunction, isIP } from 'node:net';

export interface WebhookCall {
  /** An https URL, at the default port. */
  url: string;
  /** The message's id, the same for every attempt, so that receivers recognise repetitions. */
  id: string;
  /** Sent as JSON. */
  body: object;
  /** Returns the `Dormouse-Signature` of the sent text. Absent: none. */
  sign?: ((payload: string) => string) | undefined;
}

export interface WebhookAnswer {
  status: number;
  /** The seconds that the receiver asks to wait, in a header or as Discord does in its JSON; null if it does not. */
  retryAfterSeconds: number | null;
  /** The beginning of the body. */
  text: string;
}

/** Calls users' webhooks: at public addresses only, within seconds, without following redirects. */
export interface Webhook {
  /** Resolves with the answer, whatever its status is. Rejects with WebhookError. */
  post(call: WebhookCall): Promise<WebhookAnswer>;
}

export class WebhookError extends Error {
  /** `refused`: the URL is invalid, or leads to an address that must not be called. */
  readonly reason: 'refused' | 'timeout' | 'unreachable';
  constructor(reason: WebhookError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.reason = reason;
  }
}

type Resolve = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export interface WebhookOptions {
  /** Whether an address may be called. All addresses of a name must be allowed. */
  isAllowed: (address: string) => boolean;
  /** Default: the port of https. */
  port?: number;
  /** Trusted certificate authorities. Default: the well-known ones. */
  ca?: string;
  /** Looks up all addresses of a name. Default: this machine's resolver. */
  resolve?: Resolve;
  /** Time limit from the name lookup to the end of the answer. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;
/** The most bytes of the answer's body that are read. */
const MAX_BODY_BYTES = 4_096;
const MAX_HEADER_BYTES = 8_192;
const USER_AGENT = 'Dormouse-Webhook/1';

/**
 * Creates a client that calls webhooks over https. It checks a name's addresses in the lookup of the connection itself,
 * so changing the name after an earlier check has no effect. It does not follow redirects, and keeps no connections
 * between calls.
 */
export function createWebhook(options: WebhookOptions): Webhook {
  const { isAllowed, port, ca, resolve = resolveAll, timeoutMs = TIMEOUT_MS } = options;
  const agent = new Agent({ keepAlive: false });
  const lookup = allowedOnly(resolve, isAllowed);

  function send({ url, id, body, sign }: WebhookCall, target: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const text = JSON.stringify(body);
    const payload = Buffer.from(text);
    return new Promise((resolve, reject) => {
      request(url, {
        method: 'POST',
        agent,
        lookup,
        signal,
        maxHeaderSize: MAX_HEADER_BYTES,
        headers: {
          Host: target.host,
          'Content-Type': 'application/json',
          'Content-Length': payload.length,
          'Idempotency-Key': id,
          'User-Agent': USER_AGENT,
          ...(sign && { 'Dormouse-Signature': sign(text) }),
        },
        ...(port !== undefined && { port }),
        ...(ca !== undefined && { ca }),
      })
        .on('response', resolve)
        .on('error', reject)
        // Reached if the connection is upgraded or ends before an answer. After an answer, this has no effect.
        .on('close', () => reject(new Error('no response')))
        .end(payload);
    });
  }

  return {
    async post(call) {
      const target = URL.parse(call.url);
      if (target?.protocol !== 'https:' || target.port !== '' || target.username !== '' || target.password !== '')
        throw new WebhookError('refused', 'This is not a valid webhook URL.');
      const host = target.hostname.replace(/^\[|\]$/g, '');
      // An address causes no lookup, so it is checked here.
      if (isIP(host) !== 0 && !isAllowed(host)) throw notPublic();
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const response = await send(call, target, signal);
        const text = await beginningOf(response);
        return { status: response.statusCode ?? 0, retryAfterSeconds: retryAfter(response, text), text };
      } catch (error) {
        if (error instanceof WebhookError) throw error;
        if (signal.aborted) throw new WebhookError('timeout', 'The webhook did not respond in time.', error);
        throw new WebhookError('unreachable', 'The webhook could not be reached.', error);
      }
    },
  };
}

/** Reads a small body, so that the connection ends well. Ignores failures, because the receiver has answered. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let left = MAX_BODY_BYTES;
  try {
    for await (const chunk of response) {
      chunks.push((chunk as Buffer).subarray(0, left));
      left -= (chunk as Buffer).length;
      // Leaving the loop destroys the connection.
      if (left < 0) break;
    }
  } catch {
    response.destroy();
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Returns the seconds of `Retry-After` (RFC 9110 §10.2.3), or of the field `retry_after`, a fraction, in Discord's
 * answer 429 (https://discord.com/developers/docs/topics/rate-limits); null without either, or for a date.
 */
function retryAfter({ headers, statusCode }: IncomingMessage, body: string): number | null {
  const text = headers['retry-after'] ?? '';
  if (/^\d{1,6}$/.test(text)) return Number(text);
  const given = statusCode === 429 ? /"retry_after":\s*(\d{1,6}(?:\.\d{1,9})?)/.exec(body)?.[1] : undefined;
  return given === undefined ? null : Math.ceil(Number(given));
}

const resolveAll: Resolve = (hostname, callback) => lookup(hostname, { all: true }, callback);

function allowedOnly(resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, (error, found) => {
      if (error !== null) return callback(error, '');
      const [first] = found;
      if (first === undefined || !found.every(({ address }) => isAllowed(address))) callback(notPublic(), '');
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
}

function notPublic(): WebhookError {
  return new WebhookError('refused', 'The webhook is not at a public address.');
}
