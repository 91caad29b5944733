import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Faults on request, for tests of the service around a game server. Read from the environment only, never from files
 * that an owner can write.
 *
 * - `SANDBOX_START_MS`: the duration of a start, with percent lines spread over it; the port answers at its end
 * - `SANDBOX_EARLY_PORT`: `true`: the port is open from the start; pings are closed, logins refused as "still starting"
 * - `SANDBOX_NEVER_READY`: `true`: percent lines up to 92 %, then nothing more; the port never answers
 * - `SANDBOX_CRASH_AT_START`: `true`: a stack trace while preparing the world, exit code 1
 * - `SANDBOX_OUT_OF_MEMORY`: `report`: an OutOfMemoryError line, exit code 1; `allocate`: allocates memory outside the
 *   runtime's heap until killed (gives up at 4 GiB, exit code 1); `heap`: fills the heap
 *   until the runtime aborts
 * - `SANDBOX_CRASH_AFTER_MS`: a crash report and exit code 1 this long after being ready
 * - `SANDBOX_GROW_MB`: once ready, the world grows by this many MB per second (stops at 4 GiB)
 * - `SANDBOX_IGNORE_STOP`: `true`: SIGTERM, SIGINT and the `stop` command are logged and ignored
 */
export interface Faults {
  startMs: number;
  earlyPort: boolean;
  neverReady: boolean;
  crashAtStart: boolean;
  outOfMemory: '' | 'report' | 'allocate' | 'heap';
  /** Undefined: does not crash. */
  crashAfterMs: number | undefined;
  growMb: number;
  ignoreStop: boolean;
}

const CHUNK_BYTES = 16 * 1024 * 1024;
const MAX_ALLOCATED_BYTES = 4 * 1024 * 1024 * 1024;

/** Reads the `SANDBOX_` variables. An invalid value means no fault. */
export function readFaults(env: NodeJS.ProcessEnv): Faults {
  const flag = (name: string) => env[name]?.toLowerCase() === 'true';
  const count = (name: string) => (/^\d{1,9}$/.test(env[name] ?? '') ? Number(env[name]) : undefined);
  const memory = env.SANDBOX_OUT_OF_MEMORY;
  return {
    startMs: count('SANDBOX_START_MS') ?? 0,
    earlyPort: flag('SANDBOX_EARLY_PORT'),
    neverReady: flag('SANDBOX_NEVER_READY'),
    crashAtStart: flag('SANDBOX_CRASH_AT_START'),
    outOfMemory: memory === 'report' || memory === 'allocate' || memory === 'heap' ? memory : '',
    crashAfterMs: count('SANDBOX_CRASH_AFTER_MS'),
    growMb: count('SANDBOX_GROW_MB') ?? 0,
    ignoreStop: flag('SANDBOX_IGNORE_STOP'),
  };
}

/** Output of a Java server when a mod breaks its start. */
export const CRASH_AT_START_STACK = `java.lang.IllegalStateException: Failed to initialize server
\tat net.minecraft.server.MinecraftServer.loadLevel(MinecraftServer.java:412) ~[server.jar:?]
\tat net.minecraft.server.dedicated.DedicatedServer.initServer(DedicatedServer.java:261) ~[server.jar:?]
\tat net.minecraft.server.MinecraftServer.runServer(MinecraftServer.java:687) ~[server.jar:?]
\tat java.base/java.lang.Thread.run(Thread.java:1583) [?:?]`;

/** Output of a Java server when its heap is full. */
export const OUT_OF_MEMORY_STACK = `java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.util.Arrays.copyOf(Arrays.java:3541) ~[?:?]
\tat net.minecraft.world.level.chunk.LevelChunkSection.<init>(LevelChunkSection.java:41) ~[server.jar:?]
\tat net.minecraft.server.MinecraftServer.prepareLevels(MinecraftServer.java:523) ~[server.jar:?]`;

/** Output of a Java server when a tick throws. */
export const CRASH_WHILE_RUNNING_STACK = `net.minecraft.ReportedException: Exception ticking world
\tat net.minecraft.server.MinecraftServer.tickChildren(MinecraftServer.java:1042) ~[server.jar:?]
\tat net.minecraft.server.MinecraftServer.tickServer(MinecraftServer.java:909) ~[server.jar:?]
\tat java.base/java.lang.Thread.run(Thread.java:1583) [?:?]
Caused by: java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "key" is null`;

/** Allocates and touches memory until a limit of the container or of the heap ends this process. */
export function allocateUntilKilled(where: 'allocate' | 'heap'): void {
  const taken: unknown[] = [];
  setInterval(() => {
    taken.push(where === 'heap' ? Array.from({ length: CHUNK_BYTES / 8 }, Math.random) : Buffer.alloc(CHUNK_BYTES, 1));
    // Without a limit on this process, a test must not use up the machine's memory.
    if (taken.length * CHUNK_BYTES > MAX_ALLOCATED_BYTES) process.exit(1);
  }, 5);
}

/** Makes a region file in `directory` grow continuously, up to 4 GiB. */
export function growWithoutEnd(directory: string, mbPerSecond: number): void {
  const everyMs = 100;
  const piece = Buffer.alloc((mbPerSecond * 1_048_576 * everyMs) / 1_000, 1);
  let written = 0;
  const growing = setInterval(() => {
    appendFileSync(join(directory, 'region', 'r.99.99.mca'), piece);
    written += piece.length;
    if (written > MAX_ALLOCATED_BYTES) clearInterval(growing);
  }, everyMs);
}
