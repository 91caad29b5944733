import type { Preparation } from '../../engine.ts';

type Listener = (progress: Preparation) => void;

/** One caller's part in shared progress. Dispose of it when the caller no longer waits. */
interface Share extends Disposable {
  /** Notifies all callers with the same key. */
  progress: Listener;
}

/**
 * Returns a function by which callers that wait for the same work, named by `key`, share its progress. A caller that
 * joins later is notified of the last progress at once.
 */
export function createSharedProgress(): (key: string, listener: Listener) => Share {
  const known = new Map<string, { listeners: Set<{ notify: Listener }>; last?: Preparation }>();
  return function share(key, notify) {
    const all = known.get(key) ?? { listeners: new Set() };
    known.set(key, all);
    if (all.last) notify(all.last);
    const own = { notify };
    all.listeners.add(own);
    return {
      progress(progress) {
        all.last = progress;
        for (const listener of all.listeners) listener.notify(progress);
      },
      [Symbol.dispose]() {
        all.listeners.delete(own);
        if (all.listeners.size === 0) known.delete(key);
      },
    };
  };
}
