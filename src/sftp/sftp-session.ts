import type { Readable } from 'node:stream';
import { NOT_ACCESSIBLE } from '../jail/errors.ts';
import type { Log } from '../kernel/log.ts';
import { type Code, StatusError } from '../kernel/status.ts';
import { type Reply, statusReply, versionReply } from './replies.ts';
import { type Request, readInit, readRequest } from './requests.ts';
import { BadPacket, MOST_PACKET_BYTES, type Status } from './wire.ts';

/** The parts of an SFTP session with a signed-in client. */
export interface SftpSessionOptions {
  /** The client's bytes. */
  channel: Readable;
  /** Resolves when more may be sent. */
  send: (reply: Reply) => Promise<void>;
  /** Answers one request. Rejects with StatusError. */
  perform: (request: Request) => Promise<Reply>;
  /** Called for each request before it is answered. */
  onRequest: () => void;
  /** Ends the session after the request in progress. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Answers requests until the client ends the session, one at a time and in order, like OpenSSH's own server. A client
 * that sends requests too fast, or does not read the replies, must wait. Rejects with BadPacket for an invalid packet,
 * and with the errors of `send`.
 */
export async function serveSftpSession({
  channel,
  send,
  perform,
  onRequest,
  signal,
  log,
}: SftpSessionOptions): Promise<void> {
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
