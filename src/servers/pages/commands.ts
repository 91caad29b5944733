import type { Call } from '../../http/calls.ts';
import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';

/** The server buttons of all pages. */
export const COMMANDS = {
  start: (call: Call, id: string) => call('StartServer', { id }),
  stop: (call: Call, id: string) => call('StopServer', { id }),
  restart: (call: Call, id: string) => call('RestartServer', { id }),
  kill: (call: Call, id: string) => call('KillServer', { id }),
  'retry-install': (call: Call, id: string) => call('RetryInstall', { id }),
};

/** A page below a server's, as it was asked for. */
const BELOW = /^(?:\/[a-z]+)+(?:\?[\w%+=&.*-]*)?$/;

/** Returns the page to go back to, which must be one of this server. */
export function backOf({ server }: ServerRequest, form: Form): string {
  const top = `/servers/${server.id}`;
  const back = form.get('back') ?? '';
  return back.startsWith(top) && BELOW.test(back.slice(top.length)) ? back : top;
}

/** The buttons in the head of a server's pages, for its front page, which says why one was refused; each leads back to its own page. */
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
