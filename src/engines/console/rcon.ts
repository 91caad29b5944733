import { type Address, endpointKey } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type WithLock, createMutex } from '../../kernel/mutex.ts';
import { monotonicClock } from '../../kernel/system-clock.ts';
import { withTimeout } from '../../kernel/timeout.ts';
import { type Console, ConsoleError, MAX_COMMAND_BYTES } from './console.ts';
import { RconConnection } from './rcon-connection.ts';

const MAX_QUEUE = 100;
/** Time limit of a command: for its wait in the queue, connecting and the whole reply together. */
const TIMEOUT_MS = 10_000;
/**
 * A command with less than this share of its time left is not sent, because its time-out would close a working
 * connection.
 */
const LEAST_SHARE = 0.1;

export interface RconOptions {
  /** Default: real time. */
  clock?: Clock;
}

interface PendingCommand {
  password: string;
  command: string;
  /** Its deadline. */
  until: number;
}

interface Line {
  password: string;
  connection: RconConnection | undefined;
  waiting: number;
  withLock: WithLock;
}

/**
 * Creates the console of games over RCON. Keeps one connection per address, because games log each new one. Runs one
 * command on it at a time, with at most 100 waiting. Each command has 10 s from the call on, so that commands behind a
 * hanging game wait no longer than the first. A late or incomplete reply closes the connection, and the next command
 * opens a new one. Open connections don't keep this process alive.
 */
export function createRconConsole({ clock = monotonicClock }: RconOptions = {}): Console {
  const lines = new Map<string, Line>();
  let closed = false;

  async function exchange(line: Line, address: Address, { password, command, until }: PendingCommand): Promise<string> {
    if (closed) throw new ConsoleError('unavailable', 'The service is shutting down.');
    const leftMs = until - clock.now();
    if (leftMs < TIMEOUT_MS * LEAST_SHARE) tooLate();
    if (line.connection && (line.connection.closed || line.password !== password)) drop(line);
    const fresh = line.connection === undefined;
    const connection = (line.connection ??= new RconConnection(address, clock));
    line.password = password;
    const talk = async () => {
      if (fresh) await connection.authenticate(password);
      return await connection.run(command);
    };
    try {
      return await withTimeout(talk(), leftMs, { clock, late: tooLate });
    } catch (error) {
      // Also after a time-out, because a late reply must not answer the next command.
      drop(line);
      throw error;
    }
  }

  function drop(line: Line): void {
    line.connection?.close();
    line.connection = undefined;
  }

  return {
    async run(address, password, command) {
      checkCommand(command);
      const key = endpointKey(address);
      const line = lines.get(key) ?? { password, connection: undefined, waiting: 0, withLock: createMutex() };
      if (line.waiting >= MAX_QUEUE)
        throw new ConsoleError('unavailable', 'Too many commands are waiting for the console.');
      lines.set(key, line);
      line.waiting += 1;
      const pending = { password, command, until: clock.now() + TIMEOUT_MS };
      try {
        return await line.withLock(() => exchange(line, address, pending));
      } finally {
        line.waiting -= 1;
        if (line.waiting === 0 && line.connection === undefined && lines.get(key) === line) lines.delete(key);
      }
    },
    release(address) {
      const line = lines.get(endpointKey(address));
      if (!line) return;
      drop(line);
      if (line.waiting === 0) lines.delete(endpointKey(address));
    },
    close() {
      closed = true;
      for (const line of lines.values()) drop(line);
      lines.clear();
    },
  };
}

// A line end would turn one command into two if the text later goes to a line-based console.
function checkCommand(command: string): void {
  if (/[\r\n\0]/.test(command)) throw new ConsoleError('invalid', 'A command must be a single line.');
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    throw new ConsoleError('invalid', `A command can have at most ${MAX_COMMAND_BYTES} bytes.`);
  }
}

function tooLate(): never {
  throw new ConsoleError('timeout', `The console did not answer within ${TIMEOUT_MS} ms.`);
}
