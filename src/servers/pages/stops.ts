import { isTagged } from '../../../machines/server.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';

/** Whether a change of all files stops the server first and starts it again afterwards. */
export function isStoppedForIt({ server }: ServerRequest): boolean {
  return isTagged(server.state, 'awake');
}

/** Returns the warning shown before such a change is confirmed; '' if it stops nothing. */
export function stopsText(request: ServerRequest): string {
  if (!isStoppedForIt(request)) return '';
  return ' The server stops, which disconnects players, and then starts again.';
}
