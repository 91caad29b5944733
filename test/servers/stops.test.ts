import test from 'ava';
import { SERVER_STATES } from '../../machines/server-types.ts';
import { stopsText } from '../../src/servers/pages/parts.ts';
import { stateTag } from '../../src/web/panel/state.ts';
import type { ServerRequest } from '../../src/web/panel/panel.ts';

test('the stop warning appears only for a running or starting server', (t) => {
  const said = SERVER_STATES.filter((state) => stopsText({ server: { state } } as ServerRequest) !== '');
  t.deepEqual(said.toSorted(), ['running', 'starting']);
});

test('the suspended tag replaces the state only while the server does not run', (t) => {
  const said = SERVER_STATES.filter((state) => String(stateTag(state, 'suspended')).includes('suspended'));
  t.deepEqual(said.toSorted(), ['hibernated', 'install_failed', 'start_failed']);
});
