import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';

/** A received call. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  json: Record<string, unknown>;
  /** The body as sent. */
  body: string;
}

/**
 * A webhook endpoint over TLS on 127.0.0.1. Its certificate is for `hooks.example`, `hooks.slack.com` and that address.
 */
export interface Receiver {
  port: number;
  /** The authority that signed its certificate. */
  ca: string;
  calls: Received[];
  /** Answers each call. Default: 204. */
  answer: (response: ServerResponse, nth: number) => void;
}

const TLS = join(import.meta.dirname, '../fixtures/tls');

export async function receiver(t: ExecutionContext): Promise<Receiver> {
  const [key, cert] = await Promise.all([
    readFile(join(TLS, 'key.pem'), 'utf8'),
    readFile(join(TLS, 'cert.pem'), 'utf8'),
  ]);
  const it: Receiver = { port: 0, ca: cert, calls: [], answer: (response) => void response.writeHead(204).end() };
  const server = createServer({ key, cert }, (request, response) => {
    void buffer(request).then((body) => {
      const json = JSON.parse(body.toString()) as Record<string, unknown>;
      it.calls.push({ path: request.url ?? '', headers: request.headers, json, body: body.toString() });
      it.answer(response, it.calls.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  it.port = (server.address() as AddressInfo).port;
  return it;
}
