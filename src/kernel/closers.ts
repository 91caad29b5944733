/**
 * Registers a function that closes a resource. Call it as soon as the resource is open, so that the resource is closed
 * even if a later step fails.
 */
export type OnClose = (close: () => unknown) => void;

/**
 * Collects functions that close resources. `close` calls them in reverse order, one after the other. A second call does
 * nothing.
 */
export function createClosers(): { onClose: OnClose; close: () => Promise<void> } {
  const closers: (() => unknown)[] = [];
  return {
    onClose: (close) => void closers.push(close),
    async close() {
      for (const closer of closers.splice(0).toReversed()) await closer();
    },
  };
}
