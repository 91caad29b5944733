import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { NOT_ACCESSIBLE } from '../jail/errors.ts';
import type { Log } from '../kernel/log.ts';
import { type Code, StatusError } from '../kernel/status.ts';
import { type Reply, statusReply, versionReply } from './replies.ts';
import { type Request, readInit, readRequest } from './requests.ts';
import { BadPacket, MOST_PACKET_BYTES, type Status } from './wire.ts';

/**
 * Answers requests until the client ends the session, one at a time and in order, like OpenSSH's own server. A client
 * that sends requests too fast, or does not read the replies, must wait. Rejects with BadPacket for an invalid packet,
 * and with the errors of `send`.
 */
export async function serveSftpSession(
  /** The client's bytes. */
  channel: Readable,
  /** Resolves when more may be sent. */
  send: (reply: Reply) => Promise<void>,
  /** Answers one request. Rejects with StatusError. */
  perform: (request: Request) => Promise<Reply>,
  /**
   * `onRequest` is called for each request before it is answered. `signal` ends the session after the one in progress.
   */
  { onRequest, signal }: { onRequest: () => void; signal: AbortSignal },
  log: Log,
): Promise<void> {
  let greeted = false;
  for await (const packet of packetsOf(channel)) {
    if (signal.aborted) return;
    onRequest();
    if (greeted) {
      await send(await answer(readRequest(packet)));
    } else {
      readInit(packet);
      await send(versionReply());
      greeted = true;
    }
  }

  async function answer(request: Request): Promise<Reply> {
    try {
      return await perform(request);
    } catch (error) {
      if (error instanceof StatusError) return statusReply(request.id, statusOf(error), error.message);
      log.error({ err: error, request: request.type }, 'an SFTP request failed');
      return statusReply(request.id, 'failure', 'Internal error.');
    }
  }
}

function statusOf({ code, reason }: StatusError): Status {
  return reason === NOT_ACCESSIBLE ? 'permissionDenied' : (STATUSES[code] ?? 'failure');
}

const STATUSES: Partial<Record<Code, Status>> = {
  NOT_FOUND: 'noSuchFile',
  PERMISSION_DENIED: 'permissionDenied',
  UNIMPLEMENTED: 'unsupported',
};

/**
 * Splits a stream into packets (a length of four bytes, then that many bytes) until it ends. Reads each packet only on
 * demand. Throws BadPacket for a length of 0 or above `MOST_PACKET_BYTES`, before it buffers anything.
 */
export async function* packetsOf(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
  let wake = (): void => {};
  for (const event of ['readable', 'end', 'close']) stream.on(event, () => wake());

  /** Reads exactly `length` bytes; undefined if the stream ends before. */
  async function read(length: number): Promise<Buffer | undefined> {
    for (;;) {
      const bytes = stream.read(length) as Buffer | null;
      // At its end, a stream returns its remaining bytes.
      if (bytes !== null) return bytes.length === length ? bytes : undefined;
      if (stream.readableEnded || stream.destroyed) return undefined;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  for (;;) {
    const head = await read(4);
    if (!head) return;
    const length = head.readUInt32BE();
    if (length === 0 || length > MOST_PACKET_BYTES) throw new BadPacket(`a packet of ${length} bytes`);
    const packet = await read(length);
    if (!packet) return;
    yield packet;
  }
}

/** The error for a session that has ended: no more replies can be sent. */
export class SftpSessionEnded extends Error {
  override name = 'SftpSessionEnded';
}

/**
 * Sends replies to a client, one at a time. Resolves once the client has read enough of the earlier replies. The SSH
 * library respects the flow control of a channel. It limits neither the bytes queued on the connection nor the duration
 * of a key exchange, during which it queues everything. `socket` carries the bytes of the channel; at most
 * `waitingBytes` may wait in this process for a client that does not read them. Rejects with SftpSessionEnded.
 */
export function createOutbox(
  channel: Duplex,
  socket: Socket,
  signal: AbortSignal,
  waitingBytes: number,
): (reply: Reply) => Promise<void> {
  let fail = (_error: Error): void => {};
  let keptBytes = 0;
  // If the client has disconnected, the channel never reports the result of a write.
  const end = (): void => fail(new SftpSessionEnded('The session has ended.'));
  channel.on('close', end);
  signal.addEventListener('abort', end);

  function settled(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      fail = reject;
      begin((error) => (error ? reject(error) : resolve()));
    });
  }

  return async function send(reply) {
    if (signal.aborted) throw new SftpSessionEnded('The session has ended.');
    const before = socket.bytesWritten;
    await settled((done) => channel.write(reply, done));
    // Encryption does not shorten a reply. If the socket has written fewer bytes, the library queues the reply until a
    // key exchange ends.
    keptBytes = socket.bytesWritten - before < reply.length ? keptBytes + reply.length : 0;
    if (keptBytes > waitingBytes) throw new SftpSessionEnded('A key exchange does not end.');
    if (socket.writableLength > waitingBytes / 4) await settled((done) => socket.once('drain', done));
  };
}
