import test from 'ava';
import { SERVER_STATES } from '../../machines/server-types.ts';
import { stopsText } from '../../src/servers/pages/stops.ts';
import { stateTag } from '../../src/web/panel/state.ts';
import type { ServerRequest } from '../../src/web/panel/panel.ts';

test('a server that is up or coming up is said to be stopped and started again; one that goes down anyway is not', (t) => {
  const said = SERVER_STATES.filter((state) => stopsText({ server: { state } } as ServerRequest) !== '');
  t.deepEqual(said.toSorted(), ['running', 'starting']);
});

test('a suspended server is called so where nothing of it runs; until then its state is said', (t) => {
  const said = SERVER_STATES.filter((state) => String(stateTag(state, 'suspended')).includes('suspended'));
  t.deepEqual(said.toSorted(), ['hibernated', 'install_failed', 'start_failed']);
});
