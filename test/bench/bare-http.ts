import { type Socket, connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** The answer in progress on a connection. */
interface Pending {
  received: Buffer[];
  bytes: number;
  /** The length of the whole answer. Undefined: not known yet. Infinity: it ends with a last chunk. */
  length: number | undefined;
  status: number;
  resolve: (status: number) => void;
  reject: (error: Error) => void;
}

/**
 * Creates a minimal HTTP/1.1 client, so that a load costs its own process little. It reuses at most `most` connections,
 * and only counts the bytes of an answer's body. The returned function resolves with the status.
 */
export function bareHttp(port: number, most: number, timeoutMs: number) {
  const idle: Socket[] = [];
  const pendings = new WeakMap<Socket, Pending>();
  const line: (() => void)[] = [];
  let open = 0;

  function begin(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const pending = { received: [], bytes: 0, length: undefined, status: 0, resolve, reject };
      const go = (): void => write(idle.pop() ?? connection(), request, pending);
      if (idle.length === 0 && open >= most) line.push(go);
      else go();
    });
  }

  function write(socket: Socket, request: string, pending: Pending): void {
    pendings.set(socket, pending);
    socket.write(request, 'latin1');
  }

  function connection(): Socket {
    open += 1;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, timeout: timeoutMs });
    socket.on('data', (chunk) => take(socket, chunk));
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    socket.on('error', () => {});
    socket.on('close', () => {
      open -= 1;
      pendings.get(socket)?.reject(new Error('cut off'));
      const nth = idle.indexOf(socket);
      if (nth >= 0) idle.splice(nth, 1);
      line.shift()?.();
    });
    return socket;
  }

  function take(socket: Socket, chunk: Buffer): void {
    const pending = pendings.get(socket);
    if (pending === undefined) return void socket.destroy();
    pending.bytes += chunk.length;
    if (pending.length === undefined) readHead(pending, chunk);
    const isWhole =
      pending.length === Infinity
        ? chunk.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
        : pending.length !== undefined && pending.bytes >= pending.length;
    if (!isWhole) return;
    pendings.delete(socket);
    idle.push(socket);
    pending.resolve(pending.status);
    line.shift()?.();
  }

  return begin;
}

function readHead(pending: Pending, chunk: Buffer): void {
  pending.received.push(chunk);
  const text = pending.received.length === 1 ? chunk : Buffer.concat(pending.received);
  const end = text.indexOf(HEAD_END);
  if (end < 0) return;
  const head = text.toString('latin1', 0, end);
  pending.status = Number(head.slice(9, 12));
  const [, bytes] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  pending.length = bytes === undefined ? Infinity : end + HEAD_END.length + Number(bytes);
  pending.received = [];
}
