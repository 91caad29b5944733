import type { Call } from '../../http/calls.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';

/** Commands behind the server buttons on all pages. */
export const COMMANDS = {
  start: (call: Call, id: string) => call('StartServer', { id }),
  stop: (call: Call, id: string) => call('StopServer', { id }),
  restart: (call: Call, id: string) => call('RestartServer', { id }),
  kill: (call: Call, id: string) => call('KillServer', { id }),
  'retry-install': (call: Call, id: string) => call('RetryInstall', { id }),
};

/** The path and query of a page below a server's. */
const BELOW = /^(?:\/[a-z]+)+(?:\?[\w%+=&.*-]*)?$/;

/** Returns the page to go back to, which must be one of this server. */
export function backOf({ server }: ServerRequest, form: Form): string {
  const top = `/servers/${server.id}`;
  const back = form.get('back') ?? '';
  return back.startsWith(top) && BELOW.test(back.slice(top.length)) ? back : top;
}

/**
 * Forms of the buttons in the head of a server's pages. Each leads back to its own page; the front page shows why a
 * command was refused.
 */
export function commandForms(): NonNullable<Parameters<Panel['serverPage']>[0]['forms']> {
  return Object.fromEntries(
    Object.entries(COMMANDS).map(([name, command]) => [
      name,
      async (request: ServerRequest, form: Form) => {
        await command(request.call, request.server.id);
        return { to: backOf(request, form) };
      },
    ]),
  );
}
