import { isTagged } from '../../../machines/server.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

/** Whether a change of all its files ends a run, after which the server is started again. */
export function isStoppedForIt({ server }: ServerRequest): boolean {
  return isTagged(server.state, 'awake');
}

/** Returns the warning before such a change is confirmed; '' if nothing is stopped for it. */
export function stopsText(request: ServerRequest): string {
  if (!isStoppedForIt(request)) return '';
  return ' The server stops, which disconnects players, and then starts again.';
}
