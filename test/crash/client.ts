import { setTimeout as delay } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../support/service.ts';

/** What became of a call. `unknown`: the connection broke, or the service could not say whether it is done. */
export type Outcome =
  | { is: 'done'; json: Record<string, unknown> }
  | { is: 'refused'; status: number; reason: string }
  | { is: 'unknown'; status: number };

/** Someone who uses the service by its API, and by a session of the operator. */
export interface Client {
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Outcome>;
  /** Reads something, with patience while `patient`; rejects where it cannot be had. */
  get<Reply>(path: string, options?: CallOptions): Promise<Reply>;
  /** Whether a service that does not answer is waited for: off while it is about to be killed. */
  patient: boolean;
  /** Makes a session where none is kept, and proves the password once more where that is asked for. */
  signIn(): Promise<void>;
  /** Answers of 500, of which there should be none. */
  readonly broken: string[];
}

export interface CallOptions {
  /** In place of the operator's. */
  key?: string;
  /** By the operator's session in place of a key. */
  session?: boolean;
  /** A file's content in place of JSON. */
  bytes?: string;
}

/** Longer than any operation takes that does not hang, on the busiest machine. */
const PATIENCE_MS = 120_000;

export function newClient(service: Service): Client {
  const broken: string[] = [];
  let cookies = new Map<string, string>();
  let csrf = '';

  async function send(method: string, path: string, body: unknown, options: CallOptions): Promise<Response> {
    const { key = service.apiKey, session = false, bytes } = options;
    const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
    const type = bytes === undefined ? 'application/json' : 'application/octet-stream';
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return await fetch(`${service.baseUrl}${path}`, {
      method,
      headers: {
        ...(session ? { cookie, 'x-csrf-token': csrf } : { 'x-api-key': key }),
        ...(content !== undefined && { 'content-type': type }),
      },
      ...(content !== undefined && { body: content }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  }

  async function call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Outcome> {
    try {
      const response = await send(method, path, body, options);
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const json = (await response.json()) as Record<string, unknown>;
      const { status } = response;
      if (response.ok) return { is: 'done', json };
      if (status === 500) broken.push(`${method} ${path}: ${JSON.stringify(json)}`);
      if (status === 429) await delay(Math.min(5, Number(response.headers.get('retry-after') ?? 1)) * 1_000);
      if (status >= 500) return { is: 'unknown', status };
      const [detail] = (json['details'] ?? []) as { reason?: string }[];
      return { is: 'refused', status, reason: detail?.reason ?? String(json['error'] ?? json['message']) };
    } catch {
      return { is: 'unknown', status: 0 };
    }
  }

  const client: Client = {
    call,
    broken,
    patient: true,
    async get<Reply>(path: string, options: CallOptions = {}): Promise<Reply> {
      let last: Outcome | undefined;
      for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await delay(100)) {
        last = await call('GET', path, undefined, options);
        if (last.is === 'done') return last.json as Reply;
        if (!client.patient || (last.is === 'refused' && last.status !== 429)) break;
      }
      throw new Error(`GET ${path}: ${JSON.stringify(last)}`);
    },
    async signIn() {
      const first = JSON.parse(await readFile(join(service.dataDir, 'operator.json'), 'utf8')) as Credentials;
      const { email, password } = first;
      if (csrf !== '') {
        const proven = await call('POST', '/v1/session/me:provePassword', { password }, { session: true });
        if (proven.is === 'done') return;
      }
      cookies = new Map();
      const signedIn = await call('POST', '/v1/session/me:signIn', { email, password }, { session: true });
      if (signedIn.is !== 'done') throw new Error(`the operator cannot sign in: ${JSON.stringify(signedIn)}`);
      csrf = String(signedIn.json['csrfToken']);
    },
  };
  return client;
}

/** Kept by the driver, as the service may remove its own copy. */
export interface Credentials {
  email: string;
  password: string;
  accountId: string;
}
