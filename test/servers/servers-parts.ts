import { StatusError } from '../../src/kernel/status.ts';
import { type World } from '../support/world.ts';

export const codeOf = (error: unknown) =>
  error instanceof StatusError ? `${error.code} ${error.reason}` : String(error);

export async function running(w: World, id: string): Promise<void> {
  await w.create(id);
  await w.command(id, 'START');
  await w.reach(id, 'running');
}
