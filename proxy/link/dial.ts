import { connect } from 'node:net';
import { WebSocket } from 'ws';
import type { Log } from '../ports.ts';
import type { Control } from './control.ts';
import { LINK_PATH } from './messages.ts';
import { SOCKET_OPTIONS, openChannel } from './socket.ts';

/** Where the service is: a socket in the file system, which only its own user reaches, or an address and a token. */
export type Service = { path: string } | { url: string; token: string };

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = { path: 250, url: 2_000 };
/** Another release of the service takes another release of the proxy, which does not happen by the second. */
const REFUSED_PAUSE_MS = 10_000;
const HANDSHAKE_MS = 5_000;
/** A link that has held for so long was no refusal: the next attempt is made soon. */
const STEADY_MS = 5_000;

/** Connects, and connects again whenever that has ended, until the returned function is called. */
export function keepLinked(control: Control, service: Service, log: Log): () => void {
  let isOver = false;
  let pauseMs = FIRST_PAUSE_MS;
  /** Each absence is told of once. */
  let isMissed = false;
  let socket: WebSocket | undefined;
  let timer: NodeJS.Timeout | undefined;

  const again = (inMs = pauseMs): void => {
    if (isOver) return;
    // Not all proxies at the same instant.
    timer = setTimeout(dial, inMs * (0.5 + Math.random() / 2));
    pauseMs = Math.min(pauseMs * 2, 'path' in service ? LONGEST_PAUSE_MS.path : LONGEST_PAUSE_MS.url);
  };
  const dial = (): void => {
    const opening = open(service);
    socket = opening;
    let isOpen = false;
    opening.once('open', () => {
      isOpen = true;
      isMissed = false;
      const openedAt = performance.now();
      openChannel(opening, (channel) => {
        const events = control.connect(channel);
        return {
          receive: (text) => events.receive(text),
          closed() {
            events.closed();
            if (control.isRefused) return again(REFUSED_PAUSE_MS);
            log.info({}, 'the service is away');
            if (performance.now() - openedAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
            again();
          },
        };
      });
    });
    opening.on('error', (err) => {
      if (!isOpen && !isMissed) log.info({ err }, 'the service cannot be reached; this is tried on');
      isMissed = true;
    });
    opening.once('close', () => {
      if (!isOpen) again();
    });
  };

  dial();
  return () => {
    isOver = true;
    clearTimeout(timer);
    socket?.terminate();
  };
}

function open(service: Service): WebSocket {
  const common = { ...SOCKET_OPTIONS, handshakeTimeout: HANDSHAKE_MS, followRedirects: false };
  if ('path' in service) {
    const createConnection = (): ReturnType<typeof connect> => connect(service.path);
    return new WebSocket(`ws://localhost${LINK_PATH}`, { ...common, createConnection });
  }
  return new WebSocket(service.url, { ...common, headers: { authorization: `Bearer ${service.token}` } });
}
