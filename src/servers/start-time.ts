import type { ServerRow } from './rows.ts';
import type { ServerNow } from './server-now.ts';

/**
 * Returns the seconds left of a start, estimated from the server's median cold start; null for a first start, or one
 * that is slower than usual.
 */
export function etaSeconds(
  {
    row,
    context: { wokenAt },
  }: { row: Pick<ServerRow, 'coldStartsMs'>; context: Pick<ServerNow['context'], 'wokenAt'> },
  at: number,
): number | null {
  const { coldStartsMs } = row;
  const usual = coldStartsMs.toSorted((a, b) => a - b)[Math.floor(coldStartsMs.length / 2)];
  if (usual === undefined || wokenAt === null) return null;
  const left = Math.ceil((wokenAt + usual - at) / 1_000);
  return left > 0 ? left : null;
}
