import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { createServer } from 'node:https';
import { type Isolator, isolator } from './agent-isolation.ts';
import type { Isolation } from './agent-rules.ts';

// A separate program that runs once on every node of a swarm. The service passes its source to Swarm unchanged (see
// agents.ts), so it imports only Node and the files passed with it. It forwards to the Docker Engine of its node the
// few calls that the service needs there and a manager cannot make: usage, output and exit of the games of one
// installation, and ending them. It refuses everything else: creating, exec, other containers, and callers without the
// secret. Both ends prove the secret by TLS with a pre-shared key. It handles one call itself: `isolate` isolates a
// game from all others.

const [installation = '', port = '', secretFile = '', socketPath = '/var/run/docker.sock', isolation = ''] =
  process.argv.slice(2);
const LABEL = 'dormouse.installation';
const EVENTS = { type: ['container'], event: ['start', 'die', 'oom', 'destroy'], label: [`${LABEL}=${installation}`] };
const ALLOWED: Record<string, readonly string[]> = {
  GET: ['json', 'logs', 'stats'],
  POST: ['stop', 'kill', 'unpause', 'wait', 'isolate'],
};
const CONTAINER = /^(?:\/v[\d.]+)?\/containers\/([0-9a-f]{64})\/([a-z]+)(\?.*)?$/;
const MOST_KNOWN = 10_000;

const psk = createHash('sha256').update(readFileSync(secretFile, 'utf8').trim()).digest();
const TLS = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
/** Undefined: games share no network. */
const apart: Isolator | undefined =
  isolation === '' ? undefined : isolator({ ...(JSON.parse(isolation) as Isolation), installation, socketPath });
/** Containers known to be ours. */
const known = new Set<string>();

/** Returns the path to call on the engine; undefined if the call is refused. */
async function passedOn({ method = '', url = '' }: IncomingMessage): Promise<string | undefined> {
  if (method === 'GET' && /^(?:\/v[\d.]+)?\/events(?:\?|$)/.test(url)) {
    return `/events?filters=${encodeURIComponent(JSON.stringify(EVENTS))}`;
  }
  const [, id = '', call = '', query = ''] = CONTAINER.exec(url) ?? [];
  if (!ALLOWED[method]?.includes(call)) return undefined;
  if (!known.has(id)) {
    if (!(await isOurs(id))) return undefined;
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(id);
  }
  return `/containers/${id}/${call}${query}`;
}

function isOurs(id: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: `/containers/${id}/json` }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('error', reject).on('end', () => {
        const labels = answer.statusCode === 200 ? labelsIn(text) : {};
        resolve(labels[LABEL] === installation);
      });
    });
    asked.on('error', reject).end();
  });
}

function labelsIn(text: string): Record<string, string> {
  return (JSON.parse(text) as { Config?: { Labels?: Record<string, string> } }).Config?.Labels ?? {};
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}

function passOn(path: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { method } = incoming;
  const asked = request({ socketPath, path, method, headers: { host: 'docker', 'content-length': '0' } }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? '' });
    // A follower waits for the first line. The headers show that the stream is open.
    response.flushHeaders();
    answer.on('error', () => response.destroy());
    answer.pipe(response);
  });
  asked.on('error', () =>
    response.headersSent ? response.destroy() : refuse(response, 502, 'the Docker Engine does not respond'),
  );
  response.on('close', () => asked.destroy());
  asked.end();
}

function isolate(id: string, response: ServerResponse): void {
  const asked = apart?.isolate(id) ?? Promise.resolve();
  asked.then(
    () => response.writeHead(204).end(),
    (error: unknown) => refuse(response, 500, error instanceof Error ? error.message : String(error)),
  );
}

createServer({ ...TLS, pskCallback: () => psk }, (incoming, response) => {
  incoming.resume();
  response.on('error', () => undefined);
  passedOn(incoming).then(
    (path) => {
      const [, id, call] = CONTAINER.exec(path ?? '') ?? [];
      if (path === undefined) refuse(response, 404, 'no such container of this installation');
      else if (id !== undefined && call === 'isolate') isolate(id, response);
      else passOn(path, incoming, response);
    },
    () => refuse(response, 502, 'the Docker Engine does not respond'),
  );
})
  .on('tlsClientError', (_, socket) => socket.destroy())
  .on('clientError', (_, socket) => socket.destroy())
  .listen(Number(port), () => console.log(`agent of installation ${installation} listens on port ${port}`));

apart?.begin();

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
