import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';

/** The buttons in the head of each of a server's pages; each leads back to the page that it stood on. */
export const COMMANDS = {
  start: ({ call, server }: ServerRequest) => call('StartServer', { id: server.id }),
  stop: ({ call, server }: ServerRequest) => call('StopServer', { id: server.id }),
  restart: ({ call, server }: ServerRequest) => call('RestartServer', { id: server.id }),
  kill: ({ call, server }: ServerRequest) => call('KillServer', { id: server.id }),
  'retry-install': ({ call, server }: ServerRequest) => call('RetryInstall', { id: server.id }),
};

/** A page below a server's, as it was asked for. */
const BELOW = /^(?:\/[a-z]+)+(?:\?[\w%+=&.*-]*)?$/;

/** Where a button leads: back to its page, which must be one of this server. */
export function backOf({ server }: ServerRequest, form: Form): string {
  const top = `/servers/${server.id}`;
  const back = form.get('back') ?? '';
  return back.startsWith(top) && BELOW.test(back.slice(top.length)) ? back : top;
}

/** What these buttons do, for the server's front page, which says why one was refused. */
export function commandForms(): NonNullable<Parameters<Panel['serverPage']>[0]['forms']> {
  return Object.fromEntries(
    Object.entries(COMMANDS).map(([name, command]) => [
      name,
      async (request: ServerRequest, form: Form) => {
        await command(request);
        return { to: backOf(request, form) };
      },
    ]),
  );
}
