import { once } from 'node:events';
import { connect } from 'node:net';
import { readFrame, readVarInt } from '../../proxy/codec.ts';
import { handshake, loginStart, pluginAnswer } from '../proxy/support.ts';

/** The protocol of 1.21.4. */
const PROTOCOL = 769;
const PLUGIN_REQUEST = 4;

/**
 * Joins as a client does and answers the proxy's requests, then leaves. Resolves with the instant (`performance.now()`)
 * of the game's first byte. Rejects if the connection ends first.
 */
export async function join(port: number, host: string, protocol = PROTOCOL): Promise<number> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const ended = once(socket, 'close').then(() => Promise.reject(new Error(`${host} hung up`)));
  socket.write(Buffer.concat([handshake(protocol, 'login', host), loginStart('Notch')]));
  try {
    for (;;) {
      const [bytes] = (await Promise.race([once(socket, 'data'), ended])) as [Buffer];
      const at = performance.now();
      const frame = readFrame(bytes, 4_096);
      if (frame?.value[0] !== PLUGIN_REQUEST) return at;
      socket.write(pluginAnswer(readVarInt(frame.value.subarray(1))?.value ?? 0));
    }
  } finally {
    ended.catch(() => undefined);
    socket.destroy();
  }
}
