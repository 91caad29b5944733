import sqlite3 from 'sqlite3';

/** A statement's callback, with the statement as `this`: the driver stores the effect of a change on it. */
type Done = (this: unknown, error: Error | null, rows?: unknown[]) => void;

/** The constructor that `prepare` calls, which the driver's types leave out. */
const Statement = sqlite3.Statement as unknown as new (
  database: sqlite3.Database,
  sql: string,
  prepared: (error: Error | null) => void,
) => sqlite3.Statement;

/** Statements worth keeping prepared, unlike those of a start or a migration. */
const KEPT = /^(?:SELECT|INSERT|UPDATE|DELETE|WITH|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/;
/** Most unused statements to keep per connection. A room has about ten that run often. */
const MOST_IDLE = 200;

/**
 * An SQLite connection that keeps its prepared statements. The driver alone prepares each query anew, in a separate
 * turn of a thread, which costs more than running it. A statement serves one query at a time. If all statements of a
 * text are in use, another one is prepared.
 */
export class PreparedDatabase extends sqlite3.Database {
  /** By text, least recently used first. */
  readonly #idle = new Map<string, sqlite3.Statement[]>();
  #count = 0;
  #closed = false;

  override all(sql: string, ...rest: unknown[]): this {
    return this.#perform('all', sql, rest);
  }

  override run(sql: string, ...rest: unknown[]): this {
    return this.#perform('run', sql, rest);
  }

  /**
   * Finalizes the unused statements first, because the driver refuses to close with open ones. Statements in use are
   * finalized when they end.
   */
  override close(callback?: (error: Error | null) => void): void {
    this.#closed = true;
    while (this.#count > 0) this.#forgetOldest();
    super.close(callback);
  }

  #perform(how: 'all' | 'run', sql: string, rest: unknown[]): this {
    const [given, done] = rest as [unknown[] | undefined, Done];
    // Without values, a statement would reuse those of its last run.
    if (rest.length !== 2 || !KEPT.test(sql) || ((given?.length ?? 0) === 0 && sql.includes('$')))
      return super[how](sql, ...rest);
    const statement = this.#take(sql, done);
    const keep = (error: Error | null) => this.#release(sql, statement, error);
    statement[how](given ?? [], function ended(this: sqlite3.Statement, error: Error | null, rows?: unknown[]) {
      keep(error);
      done.call(this, error, rows);
    });
    return this;
  }

  #take(sql: string, done: Done): sqlite3.Statement {
    const idle = this.#idle.get(sql);
    const statement = idle?.pop();
    if (statement === undefined) {
      // If preparing fails, the driver calls no other callback.
      return new Statement(this, sql, (error) => {
        if (error !== null) done(error);
      });
    }
    this.#count--;
    if (idle?.length === 0) this.#idle.delete(sql);
    return statement;
  }

  #release(sql: string, statement: sqlite3.Statement, error: Error | null): void {
    // A failed statement may still be in the middle of its work.
    if (error !== null || this.#closed) return void statement.finalize();
    const idle = this.#idle.get(sql) ?? [];
    idle.push(statement);
    this.#count++;
    this.#idle.delete(sql);
    this.#idle.set(sql, idle);
    if (this.#count > MOST_IDLE) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [sql, idle] of this.#idle) {
      idle.pop()?.finalize();
      this.#count--;
      if (idle.length === 0) this.#idle.delete(sql);
      return;
    }
  }
}
