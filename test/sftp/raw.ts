import type { ClientChannel } from 'ssh2';
import { REPLY, REQUEST, uint32 } from '../../src/sftp/wire.ts';

/** One reply. `rest` is everything after its id. */
export interface RawReply {
  type: number;
  id: number;
  rest: Buffer;
}

/** The protocol by hand, over a bare channel. */
export interface Raw {
  /** Sends a packet of this type with these parts, after its length. */
  send: (type: number, ...parts: Buffer[]) => void;
  /** Sends the greeting that begins every session. Resolves with the reply. */
  greet: () => Promise<RawReply>;
  /** Resolves with the next reply; undefined after the end of the channel. */
  next: () => Promise<RawReply | undefined>;
}

export function raw(channel: ClientChannel): Raw {
  let bytes = Buffer.alloc(0);
  let wake = (): void => {};
  const replies: RawReply[] = [];
  const state = { ended: false };
  channel.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE()) {
      const length = bytes.readUInt32BE();
      replies.push({ type: bytes[4]!, id: bytes.readUInt32BE(5), rest: bytes.subarray(9, 4 + length) });
      bytes = bytes.subarray(4 + length);
    }
    wake();
  });
  channel.on('close', () => {
    state.ended = true;
    wake();
  });
  const it: Raw = {
    send(type, ...parts) {
      const body = Buffer.concat([Buffer.of(type), ...parts]);
      channel.write(Buffer.concat([uint32(body.length), body]));
    },
    async greet() {
      it.send(REQUEST.init, uint32(3));
      const reply = await it.next();
      if (reply?.type !== REPLY.version) throw new Error('no greeting came back');
      return reply;
    },
    async next() {
      while (replies.length === 0 && !state.ended) await new Promise<void>((resolve) => (wake = resolve));
      return replies.shift();
    },
  };
  return it;
}
