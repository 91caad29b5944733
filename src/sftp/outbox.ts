import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Reply } from './replies.ts';

export interface OutboxOptions {
  channel: Duplex;
  /** The socket that carries the bytes of the channel. */
  socket: Socket;
  signal: AbortSignal;
  /** Most bytes that may wait in this process for a client that does not read them. */
  waitingBytes: number;
}

/** The error for a session that has ended: no more replies can be sent. */
export class SftpSessionEnded extends Error {
  override name = 'SftpSessionEnded';
}

/**
 * Sends replies to a client, one at a time. Resolves once the client has read enough of the earlier replies. The SSH
 * library respects the flow control of a channel. It limits neither the bytes queued on the connection nor the duration
 * of a key exchange, during which it queues everything. Rejects with SftpSessionEnded.
 */
export function createOutbox({
  channel,
  socket,
  signal,
  waitingBytes,
}: OutboxOptions): (reply: Reply) => Promise<void> {
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
