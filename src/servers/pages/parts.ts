import { createHash } from 'node:crypto';
import { isTagged } from '../../../machines/server.ts';
import { EULA_URL, needsEula } from '../../game/eula.ts';
import type { Call } from '../../http/calls.ts';
import { isAtLeast } from '../../http/roles.ts';
import { nameForHosts } from '../api/addresses.ts';
import { StatusError } from '../../kernel/status.ts';
import { type Html, html } from '../../web/html.ts';
import { type Filling, tickField } from '../../web/panel/fields.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { PanelRequest, ServerRequest } from '../../web/panel/panel.ts';
import { chipLinks, copyButton } from '../../web/panel/parts.ts';
import type { Form } from '../../web/serve.ts';
import { AcceptEula, GetEula } from '../../access/eula-api.ts';
import { KillServer, RestartServer, RetryInstall, StartServer, StopServer } from '../api/lifecycle.ts';

/** Settles like `call`, but with `otherwise` if the call is refused, for example because a file is missing. */
export async function unlessRefused<Reply, Otherwise>(
  call: Promise<Reply>,
  otherwise: Otherwise,
): Promise<Reply | Otherwise> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StatusError && error.code !== 'INTERNAL') return otherwise;
    throw error;
  }
}

const warnedBy = (form: Form) => ({ warnSeconds: Number(form.get('warnSeconds') ?? 0) });

/** Commands behind the server buttons on all pages. */
const COMMANDS = {
  start: (call: Call, id: string) => call(StartServer, { id }),
  stop: (call: Call, id: string, form: Form) => call(StopServer, { id }, warnedBy(form)),
  restart: (call: Call, id: string, form: Form) => call(RestartServer, { id }, warnedBy(form)),
  kill: (call: Call, id: string) => call(KillServer, { id }),
  'retry-install': (call: Call, id: string) => call(RetryInstall, { id }),
};

/** Returns the forms that send each command to the server that `idOf` returns, then lead to the page of `backTo`. */
export function commandForms<Request extends PanelRequest>(
  idOf: (request: Request, form: Form) => string,
  backTo: (request: Request, form: Form) => string,
) {
  return Object.fromEntries(
    Object.entries(COMMANDS).map(([name, command]) => [
      name,
      async (request: Request, form: Form) => {
        await command(request.call, idOf(request, form), form);
        return { to: backTo(request, form) };
      },
    ]),
  );
}

/** Whether a change of all files stops the server first and starts it again afterwards. */
export function isStoppedForIt({ server }: ServerRequest): boolean {
  return isTagged(server.state, 'awake');
}

/** Returns the warning shown before such a change is confirmed; '' if it stops nothing. */
export function stopsText(request: ServerRequest): string {
  if (!isStoppedForIt(request)) return '';
  return ' The server stops, which disconnects players, and then starts again.';
}

/** Returns the field of operations that can stop an awake server first. */
export const stopsFirst = (form: Form) => ({ stopFirst: form.get('stopFirst') === 'true' });

const LINK = html`<a href="${EULA_URL}" rel="noreferrer">Minecraft End User Licence Agreement</a>`;

/** Whether a server of this software cannot wake until someone accepts Mojang's EULA. */
export async function lacksEula(call: Call, accountId: string, type: string): Promise<boolean> {
  return needsEula(type) && !(await call(GetEula, { accountId })).accepted;
}

/** Accepts the EULA for the account. Only for a form in which a person agrees. */
export async function agreeToEula(call: Call, accountId: string): Promise<void> {
  await call(AcceptEula, { accountId }, { accepted: true });
}

/** The checkbox in forms that create a server. */
export function eulaTick(filled: Filling): Html {
  return tickField(filled, {
    name: 'eula',
    label: html`I agree to the ${LINK}`,
    hint: 'Required by Mojang to run its software. Once for all your servers.',
    on: false,
    required: true,
  });
}

/** The card on a server's front page for its owner while the acceptance is missing. */
export async function eulaCard(request: ServerRequest): Promise<Html | undefined> {
  const { call, server, role } = request;
  if (!isAtLeast(role, 'owner') || !(await lacksEula(call, server.accountId, server.type))) return undefined;
  return html`<section class="card" id="eula">
    <h2>Before it can wake</h2>
    <p>
      This server runs Mojang’s software. Accept the ${LINK} first, once for all your servers. Until then it can’t
      start.
    </p>
    <div class="actions">${buttonForm(request, 'agree', 'I agree', { variant: '' })}</div>
  </section>`;
}

/** Notes on typing an address in Minecraft; empty if it simply works. */
export function addressNotes(address: string, atHome: string | undefined): Html {
  const name = nameForHosts(address);
  return html`${
    atHome !== undefined &&
    html`<p>
      From another device on your network: <code>${atHome}</code> ${copyButton(atHome, 'the address at home')}
    </p>`
  }${
    name !== undefined &&
    html`<p>
      Only this computer can resolve <code>${name}</code>, and only if it resolves names under localhost. If Minecraft
      says “Unknown host”, add the line <code>127.0.0.1 ${name}</code> to its hosts file.
    </p>`
  }`;
}

/** The button that lets a bot try to join, for a server with an address. A join wakes the server. */
export function tryJoinForm({ server: { id, state }, csrf, isFree }: ServerRequest): Html {
  const isAsleep = !isTagged(state, 'awake');
  const place = { here: `/servers/${id}/try`, query: new URLSearchParams(), csrf };
  return html`<div class="actions small">
      ${buttonForm(place, 'join', isAsleep ? 'Wake it and try a join' : 'Try a join')}
    </div>
    <p class="soft">
      A bot joins as a friend would, and leaves at
      once.${isAsleep && ` This wakes the server${isFree ? '' : ', which costs like any join'}.`}
    </p>`;
}

/** Links between a server's audit log and its machine, for those who may see both. */
export function historyLinks({ server, role, here }: ServerRequest): Html | false {
  const top = `/servers/${server.id}`;
  return (
    isAtLeast(role, 'member') &&
    chipLinks('History', here, [
      [`${top}/audit`, 'Audit log'],
      [`${top}/machine`, 'State machine'],
    ])
  );
}

const SKINS = ['#f0c8a0', '#d9a066', '#a8714a', '#7a4a2e', '#8fbf7a', '#9fb4d9'];
const HAIRS = ['#2b1d14', '#6b4423', '#c9a13b', '#8c3b2a', '#3c3c46', '#5b4487', '#2f7d6b'];

/** Draws a player's head in colours derived from the name, so that no outside service learns who plays. */
export function face(name: string): Html {
  const [skin = 0, hair = 0] = createHash('sha256').update(name.toLowerCase()).digest();
  return html`<svg
    class="face"
    viewBox="0 0 8 8"
    width="32"
    height="32"
    aria-hidden="true"
    shape-rendering="crispEdges"
  >
    <path fill="${SKINS[skin % SKINS.length]}" d="M0 0h8v8H0z" />
    <path fill="${HAIRS[hair % HAIRS.length]}" d="M0 0h8v2H7v1H6V2H2v1H1v1H0z" />
    <path fill="#fff" d="M1 4h1v1H1zM6 4h1v1H6z" />
    <path fill="#333a6b" d="M2 4h1v1H2zM5 4h1v1H5z" />
    <path fill="#00000055" d="M3 5h2v1H3zM2 6h4v1H2z" />
  </svg>`;
}
