import type { Transform } from 'node:stream';
import { unzipSync } from 'node:zlib';
import type { ServerClient } from 'minecraft-protocol';

/** The largest packet a client may send; the protocol's own limit for a frame is 2 097 151 bytes. */
const MAX_FRAME_BYTES = 2_097_151;
const MAX_FRAME_BEFORE_PLAY_BYTES = 32_768;
/** How much one read from a socket brings at most: it may hold many whole frames. */
const READ_BYTES = 65_536;

/** The untyped part of the protocol library's client: the stages its bytes pass through. */
interface Stages {
  splitter: Transform & { buffer: Buffer };
  decompressor: Transform | null;
  setCompressionThreshold(threshold: number): void;
}

/**
 * Makes a client harmless: frames and what they unpack to are bounded before anything is allocated for them, and
 * whatever a handler throws ends that client's connection instead of the process. Call it as soon as it connects.
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

/** Runs `check` before a stage's own work, and hands what either throws to `fail`. */
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

/** The library's own decompression takes whatever a zip bomb unfolds to. */
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
