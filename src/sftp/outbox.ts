import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Reply } from './replies.ts';

export interface OutboxOptions {
  channel: Duplex;
  /** The socket that the channel's bytes go out through. */
  socket: Socket;
  signal: AbortSignal;
  /** Most bytes that may wait in this process for a client that does not fetch them. */
  waitingBytes: number;
}

/** The client can be sent nothing more. */
export class SftpSessionEnded extends Error {
  override name = 'SftpSessionEnded';
}

/**
 * Sends replies to a client, one at a time, and resolves when it has fetched enough of the earlier ones. The SSH
 * library heeds
 * how much the client will take in a channel, but neither how fast it takes it from the connection nor how long it lets a
 * key exchange last, during which everything is kept. Rejects with SessionEnded.
 */
export function createOutbox({
  channel,
  socket,
  signal,
  waitingBytes,
}: OutboxOptions): (reply: Reply) => Promise<void> {
  let fail = (_error: Error): void => {};
  let keptBytes = 0;
  // A channel whose client has gone never says what became of a write.
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
    // Encrypted it is no shorter, so if the connection has not seen as much, it is being kept for after a key exchange.
    keptBytes = socket.bytesWritten - before < reply.length ? keptBytes + reply.length : 0;
    if (keptBytes > waitingBytes) throw new SftpSessionEnded('A key exchange does not end.');
    if (socket.writableLength > waitingBytes / 4) await settled((done) => socket.once('drain', done));
  };
}
