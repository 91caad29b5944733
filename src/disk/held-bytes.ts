/** Bytes that are set aside for what is being written, by whose they are. Of this process: after its end the files tell what came of them. */
export class HeldBytes {
  readonly #held = new Map<string, number>();

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Negative: they are given back. */
  add(holder: string, bytes: number): void {
    const held = this.of(holder) + bytes;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}
