import type { Transform } from 'node:stream';
import { unzipSync } from 'node:zlib';
import type { ServerClient } from 'minecraft-protocol';

/** The largest packet a client may send, in bytes. It is the protocol's own limit for a frame. */
const MAX_FRAME_BYTES = 2_097_151;
const MAX_FRAME_BEFORE_PLAY_BYTES = 32_768;
/** The most bytes of one read from a socket, which may contain many whole frames. */
const READ_BYTES = 65_536;

/** The untyped part of the protocol library's client: the stages its bytes pass through. */
interface Stages {
  splitter: Transform & { buffer: Buffer };
  decompressor: Transform | null;
  setCompressionThreshold(threshold: number): void;
}

/**
 * Protects the process from a client. Limits frames and their decompressed size before memory is allocated for them. An
 * error in a handler ends the client's connection instead of the process. Call it as soon as the client connects.
 */
export function guard(client: ServerClient, broken: (reason: string) => void): void {
  const stages = client as unknown as Stages;
  const fail = (error: unknown) => {
    if (!client.socket.destroyed) broken(error instanceof Error ? error.message : String(error));
    client.socket.destroy();
  };
  const emit = client.emit.bind(client);
  client.emit = (event: string | symbol, ...values: unknown[]) => {
    try {
      return emit(event, ...values);
    } catch (error) {
      fail(error);
      return false;
    }
  };
  contain(stages.splitter, fail, (chunk) => {
    const limit = (client.state as string) === 'play' ? MAX_FRAME_BYTES : MAX_FRAME_BEFORE_PLAY_BYTES;
    if (stages.splitter.buffer.length + chunk.length > limit + READ_BYTES) throw new Error('frame too long');
    const head = Buffer.concat([stages.splitter.buffer.subarray(0, 3), chunk.subarray(0, 3)]);
    if (head.length >= 3 && head.subarray(0, 3).every((byte) => byte >= 0x80)) throw new Error('frame length too long');
  });
  const setCompressionThreshold = stages.setCompressionThreshold.bind(client);
  stages.setCompressionThreshold = (threshold) => {
    setCompressionThreshold(threshold);
    if (stages.decompressor) stages.decompressor._transform = unpack(fail);
  };
}

/** Runs `check` before a stage's own work. Passes the errors of both to `fail`. */
function contain(stage: Transform, fail: (error: unknown) => void, check: (chunk: Buffer) => void): void {
  const transform = stage._transform.bind(stage);
  stage._transform = (chunk: Buffer, encoding, done) => {
    try {
      check(chunk);
      transform(chunk, encoding, done);
    } catch (error) {
      fail(error);
    }
  };
}

/** Decompresses frames up to their declared length. The library's own decompression has no limit against zip bombs. */
function unpack(fail: (error: unknown) => void): Transform['_transform'] {
  return function (this: Transform, frame: Buffer, _encoding, done) {
    try {
      const { value: length, size } = readVarInt(frame);
      if (length > MAX_FRAME_BYTES) throw new Error('packet too long');
      this.push(length === 0 ? frame.subarray(size) : unzipSync(frame.subarray(size), { maxOutputLength: length }));
      done();
    } catch (error) {
      fail(error);
    }
  };
}

function readVarInt(bytes: Buffer): { value: number; size: number } {
  let value = 0;
  for (let size = 0; size < 5; size++) {
    const byte = bytes[size];
    if (byte === undefined) break;
    value |= (byte & 0x7f) << (7 * size);
    if ((byte & 0x80) === 0) return { value: value >>> 0, size: size + 1 };
  }
  throw new Error('bad packet length');
}
