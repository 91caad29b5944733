import { Socket } from 'node:net';

/** How long an answer of PostgreSQL may take. */
export interface PostgresLimits {
  /** One statement. Longer ones are ended by the database, and the connection stays. */
  statementMs: number;
  /** Between two statements of a transaction. Longer ones are undone by the database, and what they had locked is free. */
  idleInTransactionMs: number;
}

/** So much later than the database itself would have answered, a connection counts as dead. */
const GRACE_MS = 2_000;
/** After so long without traffic, the kernel asks whether the other side is still there; where it is not, it gives up after minutes. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/**
 * Options of a pool of `pg` whose connections nothing waits for without end: the database gives up what takes too long, and where
 * nothing comes from it either (a machine without power, a firewall that has forgotten the connection), the connection is ended,
 * which fails what waits for it. The kernel alone would try for a quarter of an hour.
 */
export function limitedPool({ statementMs, idleInTransactionMs }: PostgresLimits): object {
  return {
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...KEEP_ALIVE,
    stream: () => silenceEnds(new Socket(), statementMs + GRACE_MS),
  };
}

/** Ends a connection without traffic for this long. An unused one ends by it too. */
function silenceEnds(socket: Socket, ms: number): Socket {
  socket.setTimeout(ms, () => {
    const error = new Error(`The database has said nothing for ${ms} ms.`);
    socket.destroy(Object.assign(error, { code: 'ETIMEDOUT' }));
  });
  return socket;
}
