/** Metaspace, compiled code, threads, the collector and network buffers of a small game server, in MB. */
const OUTSIDE_MB = 288;

/**
 * The Java heap for a memory limit, both in MB: what the JVM keeps outside of it must fit into the rest. That part
 * hardly shrinks with the limit, so a small limit leaves more than a quarter for it, but never more than half.
 */
export function heapMb(ramMb: number): number {
  const share = Math.floor(ramMb * (ramMb < 4096 ? 0.75 : 0.8));
  return Math.min(share, Math.max(Math.floor(ramMb / 2), ramMb - OUTSIDE_MB));
}
