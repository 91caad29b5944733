/** The factor between the two sizes of `growth`. */
const TIMES = 8;
/** The limit of `growth` for linear work, for which it returns about 8. For quadratic work it returns about 64. */
export const PROPORTIONAL = 24;
const ROUNDS = 3;
/** The system counts processor time in steps of some milliseconds. A smaller time is noise. */
const LEAST_MS = 4;

/**
 * Returns how many times more processor time `work` takes for eight times the size. Choose a size for which quadratic
 * work would take far longer than 0.1 s. Both sizes are measured side by side, so a slow or busy machine hardly changes
 * the result.
 */
export function growth(work: (size: number) => void, size: number): number {
  return leastCpuMs(() => work(TIMES * size)) / leastCpuMs(() => work(size));
}

/**
 * Returns the processor time of this thread for `work`, the best of three rounds. Other programs do not lengthen it.
 */
export function leastCpuMs(work: () => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const begun = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1_000;
  });
  return Math.max(LEAST_MS, Math.min(...rounds));
}
