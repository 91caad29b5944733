/** Reserved bytes of writes in progress, by holder. In memory only: after a restart, the files show the result. */
export class HeldBytes {
  readonly #held = new Map<string, number>();

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Negative: releases bytes. */
  add(holder: string, bytes: number): void {
    const held = this.of(holder) + bytes;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}
