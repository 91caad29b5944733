/** Takes what undoes an opening, as soon as there is something to undo: where a later step fails, it is closed as well. */
export type OnClose = (close: () => unknown) => void;

/** Closes what was opened: the last thing opened is the first to be closed. A second call finds nothing left. */
export function createClosers(): { onClose: OnClose; close: () => Promise<void> } {
  const closers: (() => unknown)[] = [];
  return {
    onClose: (close) => void closers.push(close),
    async close() {
      for (const closer of closers.splice(0).toReversed()) await closer();
    },
  };
}
