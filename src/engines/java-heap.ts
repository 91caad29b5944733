/**
 * Memory of a small game server outside the heap, in MB: metaspace, compiled code, threads, the collector and network
 * buffers.
 */
const OUTSIDE_MB = 288;

/**
 * Returns the Java heap for a memory limit, both in MB. The JVM's memory outside the heap must fit into the rest. That
 * memory hardly shrinks with the limit, so a small limit leaves more than a quarter for it, but never more than half.
 */
export function heapMb(ramMb: number): number {
  const share = Math.floor(ramMb * (ramMb < 4096 ? 0.75 : 0.8));
  return Math.min(share, Math.max(Math.floor(ramMb / 2), ramMb - OUTSIDE_MB));
}
