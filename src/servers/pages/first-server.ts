import { offersTo, sizeWithin } from './choices.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { type Html, html } from '../../web/html.ts';
import { filling, lineField, radioField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import { copyButton } from '../../web/panel/parts.ts';
import { ramText } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import type { Addresses } from '../api/addresses.ts';
import { addressNotes } from './parts.ts';
import { UNREADY, type WakeFacts, wakeText, whyText } from './obstacles.ts';
import { GetServerUsage } from '../../billing/usage-api.ts';
import { GetServerMetrics } from '../../insight/metrics-api.ts';
import { InspectMachine } from '../api/machine.ts';
import type { ListMyServers } from '../api/my-servers.ts';
import { GetServer } from '../api/servers.ts';
import { CreateServerFromTemplate } from '../../templates/api.ts';

type Summary = ReplyOf<typeof ListMyServers>['my'][number];
type Transitions = ReplyOf<typeof InspectMachine>['transitions'];

/** Creates a server from a template, with two fields. */
export async function createFirst(request: PanelRequest, form: Form): Promise<Outcome> {
  const templateId = form.get('template') ?? '';
  const { templates, mostMb } = await offersTo(request);
  // 0: the template's RAM.
  const usualMb = templates.find(({ id }) => id === templateId)?.ramMb ?? 0;
  const overrides = { ramMb: sizeWithin(mostMb, usualMb) };
  const name = form.get('name') ?? '';
  const { id } = await request.call(CreateServerFromTemplate, { templateId }, { name, overrides });
  return { to: `/servers/${id}` };
}

/** The guide to a first join. */
interface Tour {
  shown: Html;
  isOver: boolean;
}

/** The facts that decide the guide's step. */
interface TourFacts {
  /** Number of shared servers the reader can reach. */
  shared: number;
  wakeFactsOf: (server: Summary) => WakeFacts;
  addresses: Addresses;
}

const NOTHING = html``;

/**
 * Returns the guide to a first join, until a player has joined or the reader dismisses it. Without a server, it is the
 * form that creates one.
 */
export async function firstSteps(request: PanelRequest, my: readonly Summary[], facts: TourFacts): Promise<Tour> {
  const { shared, wakeFactsOf, addresses } = facts;
  const [server] = my;
  if (!server) {
    const isWelcome = shared === 0 || !request.tourOver;
    return { shown: isWelcome ? await toFirstServer(request, shared > 0) : NOTHING, isOver: false };
  }
  if (my.length > 1 || request.tourOver) return { shown: NOTHING, isOver: true };
  const { transitions } = await request.call(InspectMachine, { id: server.id });
  const isOver = await hasBeenJoined(request, server, transitions);
  return {
    shown: html`<div data-live="tour">
      ${!isOver && toFirstJoin(request, server, { transitions, wakeFacts: wakeFactsOf(server), atHome: addresses.atHome(server.id) })}
    </div>`,
    isOver,
  };
}

async function toFirstServer(request: PanelRequest, canDismiss: boolean): Promise<Html> {
  return html`<section class="card">
    <h2>You have no server ${canDismiss && 'of your own '}yet. Three steps to the first join</h2>
    <ol class="steps">
      <li>
        <h3>Create a server</h3>
        ${await firstForm(request)}
      </li>
      <li>
        <h3>Open its address in Minecraft</h3>
        <p>Multiplayer → Direct Connection → the address on its page.</p>
      </li>
      <li>
        <h3>Join</h3>
        <p>Joining wakes it. ${WAITING}</p>
      </li>
    </ol>
    ${canDismiss && dismissForm(request)}
  </section>`;
}

interface JoinFacts {
  transitions: Transitions;
  wakeFacts: WakeFacts;
  /** The server's address for other machines of the home network. */
  atHome: string | undefined;
}

function toFirstJoin(request: PanelRequest, server: Summary, { transitions, wakeFacts, atHome }: JoinFacts): Html {
  const { address, state } = server;
  const wasWoken = transitions.some(({ to }) => to === 'starting');
  const steps = html`<ol class="steps">
    <li class="past">
      <h3>Server created</h3>
      ${!request.isFree && html`<p>Free while asleep.</p>`}
    </li>
    <li ${wasWoken && html`class="past"`}>
      <h3>${wasWoken ? (WOKEN[state] ?? 'It has run') : 'Open its address in Minecraft'}</h3>
      <p>
        Multiplayer → Direct Connection →
        <code>${address}</code> ${copyButton(address, 'the address of the first server')}
      </p>
      ${addressNotes(address, atHome)}
    </li>
    <li>
      <h3>Join</h3>
      <p>${joinText(server, wakeFacts)}</p>
    </li>
  </ol>`;
  return html`<section class="card">
    <h2>${headline(server, wakeFacts, wasWoken)}</h2>
    ${steps} ${dismissForm(request)}
  </section>`;
}

function headline({ state }: Summary, { why, playersWake, obstacle }: WakeFacts, wasWoken: boolean): string {
  const isBarred = obstacle !== undefined && !obstacle.startWakes && !obstacle.onlyWaits;
  if (why !== undefined || isBarred || UNREADY[state] !== undefined)
    return 'Your server is ready, but players can’t join now';
  if (state === 'hibernated' && (!playersWake || obstacle?.startWakes)) return 'Your server is ready. Start it now';
  return wasWoken ? 'Your server is starting. You can join now' : 'Your server is ready. Join it now';
}

/** Returns the effect of joining, in the words of the server's card. */
function joinText({ state }: Summary, wakeFacts: WakeFacts): Html | string {
  if (wakeFacts.why !== undefined) return whyText(wakeFacts.why);
  if (state === 'running') return 'No one has joined yet. It goes back to sleep when everyone has left.';
  if (state === 'starting') return WAITING;
  if (wakeFacts.obstacle !== undefined) return wakeFacts.obstacle.text;
  return UNREADY[state] ?? html`${wakeText(wakeFacts)}. ${wakeFacts.playersWake ? WAITING : SLEEPING_AGAIN}`;
}

const WAITING = 'You wait in the game until it is ready. It goes back to sleep when everyone has left.';
const SLEEPING_AGAIN = 'It goes back to sleep when everyone has left.';
const WOKEN: Readonly<Record<string, string>> = { starting: 'Starting', running: 'Running' };

function dismissForm(request: PanelRequest): Html {
  return html`<div class="actions">${buttonForm(request, 'dismiss', 'Don’t show this again')}</div>`;
}

/**
 * Whether a player has joined, as far as records show: players online, counts of the last day, and the endings of awake
 * sessions.
 */
async function hasBeenJoined(
  { call }: PanelRequest,
  { id, playersOnline = 0 }: Summary,
  transitions: Transitions,
): Promise<boolean> {
  if (playersOnline > 0 || transitions.length >= MOST_STEPS) return true;
  const [{ lastActiveAt }, { series }, { sessions }] = await Promise.all([
    call(GetServer, { id }),
    call(GetServerMetrics, { id }),
    call(GetServerUsage, { id }, { from: EVER }),
  ]);
  if (series.some(({ players }) => players > 0)) return true;
  if (sessions.some(({ cause, minutes, ending }) => cause.kind === 'player' && (minutes > 0 || ending === 'idle')))
    return true;
  // It is ready, and a player has joined since.
  const readyAt = sessions.at(-1)?.readyAt ?? null;
  return readyAt !== null && lastActiveAt !== null && Date.parse(lastActiveAt) > Date.parse(readyAt);
}

const EVER = new Date(0).toISOString();

/** Most transitions that InspectMachine returns. */
const MOST_STEPS = 50;

async function firstForm(request: PanelRequest): Promise<Html> {
  const { templates, mostMb } = await offersTo(request);
  const filled = filling(request, 'first');
  const options = templates.map(({ id, name, description, version, ramMb }) => {
    const what = html`${name}<small>${description}</small
      ><small>Minecraft ${version} · ${ramText(sizeWithin(mostMb, ramMb))} of RAM</small>`;
    return [id, what] as const;
  });
  return panelForm(
    request,
    'first',
    html`${lineField(filled, { name: 'name', label: 'Name', value: 'My server', maxlength: 64 })}
      ${radioField(filled, { name: 'template', label: 'What to play', value: templates[0]?.id ?? '', options })}
      <p class="actions">
        <button type="submit">Create server</button><a class="button second" href="/servers/new">More options</a>
      </p>`,
  );
}
