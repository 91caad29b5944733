import { connect } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { handshake, statusPing, statusRequest } from '../proxy/support.ts';
import { bareHttp } from './bare-http.ts';
import { quantile } from './figures.ts';

/** The work of a load process: this many requests a second, each begun on time even if earlier ones have not ended. */
export interface Plan {
  kind: 'calls' | 'pings';
  port: number;
  perSecond: number;
  seconds: number;
  servers: number;
  keys: string[];
}

/**
 * The latency from the instant a request was due until its end, in ms. It includes waiting for slow earlier requests.
 */
export interface Latency {
  p50: number;
  p99: number;
  max: number;
  failed: number;
}

const TIME_OUT_MS = 10_000;
const PROTOCOL = 767;
/** Of ten calls, one is a write and one a page of the list. The rest read one server. */
const WRITE = 3;
const LIST = 7;

const CONNECTIONS = 64;

async function generate({ perSecond, seconds, ...plan }: Plan): Promise<Latency> {
  const times: number[] = [];
  const open = new Set<Promise<void>>();
  const begin = plan.kind === 'calls' ? caller(plan) : (nth: number) => ping(plan, nth);
  let failed = 0;
  const begun = performance.now();
  for (let nth = 0; nth < perSecond * seconds; nth++) {
    const due = begun + (nth * 1_000) / perSecond;
    // A timer is late by a millisecond or two. All requests due by then begin at once.
    if (due > performance.now()) await delay(Math.max(1, due - performance.now()));
    const work = begin(nth)
      .then(() => void times.push(performance.now() - due))
      .catch(() => void failed++)
      .finally(() => open.delete(work));
    open.add(work);
  }
  await Promise.all(open);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), max: quantile(times, 1), failed };
}

type Where = Pick<Plan, 'port' | 'servers' | 'keys'>;

function caller({ port, servers, keys }: Where): (nth: number) => Promise<void> {
  const send = bareHttp(port, CONNECTIONS, TIME_OUT_MS);
  return async (nth) => {
    const one = `/v1/servers/server-${(nth * 7919) % servers}`;
    const body = nth % 10 === WRITE ? JSON.stringify({ motd: `Line ${nth}` }) : '';
    const line = body !== '' ? `POST ${one}:setMotd` : nth % 10 === LIST ? 'GET /v1/servers?limit=50' : `GET ${one}`;
    const status = await send(
      `${line} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${keys[nth % keys.length]}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    if (status !== 200) throw new Error(String(status));
  };
}

/** Makes a server list's whole exchange, status and ping, then disconnects. */
function ping({ port, servers }: Where, nth: number): Promise<void> {
  const host = `server-${(nth * 7919) % servers}.localhost`;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, timeout: TIME_OUT_MS });
    socket.write(Buffer.concat([handshake(PROTOCOL, 'status', host), statusRequest]));
    let received = 0;
    let pongAt = Infinity;
    socket.on('data', (chunk) => {
      if (received === 0) {
        socket.write(statusPing);
        pongAt = 2 + (((chunk[0] ?? 0) & 0x7f) | ((chunk[1] ?? 0) << 7));
      }
      received += chunk.length;
      if (received <= pongAt) return;
      socket.destroy();
      resolve();
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', reject).on('close', () => reject(new Error('cut off')));
  });
}

const [, file, role] = process.argv;
if (file === import.meta.filename && role === 'load') {
  process.on('message', (plan: Plan) => void generate(plan).then((latency) => process.send?.(latency)));
  process.send?.('there');
}
