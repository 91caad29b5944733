/** How many times larger the second size of `growth` is. */
const TIMES = 8;
/** `growth` of work that takes time in proportion is about 8; of work that takes the square of it, about 64. */
export const PROPORTIONAL = 24;
const ROUNDS = 3;
/** The system counts processor time in steps of some milliseconds: what it shows below this is noise. */
const LEAST_MS = 4;

/**
 * Returns how many times more processor time `work` takes for eight times the size, so choose a size at which the square would
 * take far longer than 0.1 s. Both are measured side by side, so neither a slow machine nor a busy one changes the answer much.
 */
export function growth(work: (size: number) => void, size: number): number {
  return leastCpuMs(() => work(TIMES * size)) / leastCpuMs(() => work(size));
}

/** The processor time of this thread that `work` takes in the best of three rounds. Others who use the machine do not lengthen it. */
export function leastCpuMs(work: () => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const begun = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1_000;
  });
  return Math.max(LEAST_MS, Math.min(...rounds));
}
