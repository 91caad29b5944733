import { connect } from 'node:net';
import { WebSocket } from 'ws';
import type { Log } from '../ports.ts';
import type { Control } from './control.ts';
import { LINK_PATH } from './messages.ts';
import { SOCKET_OPTIONS, openChannel } from './socket.ts';

/** The service's address: a socket in the file system, accessible only to its own user, or a URL with a token. */
export type Service = { path: string } | { url: string; token: string };

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = { path: 250, url: 2_000, severalUrls: 1_000 };
/**
 * Pause after a refusal. Only another release of the service or the proxy ends a refusal, so frequent attempts are
 * useless.
 */
const REFUSED_PAUSE_MS = 10_000;
const HANDSHAKE_MS = 5_000;
/** A link that lasted this long was not refused, so the next attempt follows soon. */
const STEADY_MS = 5_000;
/**
 * Silence after which the next service is tried. Together with the pause between attempts, it is shorter than the time
 * a standby waits before it takes over.
 */
const SILENT_MS = 4_000;

/**
 * Maintains a connection to the service and reconnects until the returned function is called. If there are several
 * services, only one accepts links at a time: all are tried in parallel, each at its own pace, until one connects.
 */
export function keepLinked(control: Control, services: readonly Service[], log: Log): () => void {
  let isOver = false;
  /** Services that failed since the last connection. The outage is logged once, after all have failed. */
  const missed = new Set<Service>();
  let linked: WebSocket | undefined;
  const isSeveral = services.length > 1;

  const dialers = services.map((service) => {
    const dialer = createDialer(service, isSeveral, {
      opened(socket) {
        missed.clear();
        linked = socket;
        for (const other of dialers) if (other !== dialer) other.stop();
        const openedAt = performance.now();
        const silent = isSeveral ? { silentMs: SILENT_MS } : {};
        openChannel(
          socket,
          (channel) => {
            const events = control.connect(channel);
            return {
              receive: (text) => events.receive(text),
              closed() {
                events.closed();
                linked = undefined;
                if (isOver) return;
                if (!control.isRefused) log.info({}, 'lost the connection to the service; retrying');
                const isSteady = performance.now() - openedAt > STEADY_MS;
                for (const each of dialers) each.again({ isSteady, isRefused: control.isRefused });
              },
            };
          },
          silent,
        );
      },
      failed(err) {
        const isKnown = missed.size === services.length;
        missed.add(service);
        if (!isKnown && missed.size === services.length) log.info({ err }, 'could not reach the service; retrying');
      },
    });
    return dialer;
  });
  for (const dialer of dialers) dialer.dial();
  return () => {
    isOver = true;
    for (const dialer of dialers) dialer.stop();
    linked?.terminate();
  };
}

interface Dialer {
  dial(): void;
  /** Dials after a pause. */
  again(last: { isSteady: boolean; isRefused: boolean }): void;
  /** Stops dialling. */
  stop(): void;
}

/** Dials one service until a connection opens. */
function createDialer(
  service: Service,
  isSeveral: boolean,
  { opened, failed }: { opened: (socket: WebSocket) => void; failed: (error: Error) => void },
): Dialer {
  const longestMs = LONGEST_PAUSE_MS['path' in service ? 'path' : isSeveral ? 'severalUrls' : 'url'];
  let pauseMs = FIRST_PAUSE_MS;
  let timer: NodeJS.Timeout | undefined;
  let opening: WebSocket | undefined;

  const wait = (inMs: number): void => {
    // The random factor spreads the attempts of several proxies.
    timer = setTimeout(dial, inMs * (0.5 + Math.random() / 2));
    pauseMs = Math.min(pauseMs * 2, longestMs);
  };
  const dial = (): void => {
    const socket = open(service);
    opening = socket;
    let isOpen = false;
    socket.once('open', () => {
      isOpen = true;
      if (opening !== socket) return socket.terminate();
      opening = undefined;
      opened(socket);
    });
    socket.on('error', (error) => {
      if (opening === socket) failed(error);
    });
    socket.once('close', () => {
      if (isOpen || opening !== socket) return;
      opening = undefined;
      wait(pauseMs);
    });
  };
  return {
    dial,
    again({ isSteady, isRefused }) {
      if (isSteady) pauseMs = FIRST_PAUSE_MS;
      wait(isRefused ? REFUSED_PAUSE_MS : pauseMs);
    },
    stop() {
      clearTimeout(timer);
      const socket = opening;
      opening = undefined;
      socket?.terminate();
    },
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
