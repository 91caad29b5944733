import { isTagged } from '../../../machines/server.ts';
import { type Html, html } from '../html.ts';
import { countText } from '../text.ts';
import { untilTime } from './words.ts';

/** The colours of states. */
const TONES: Record<string, string> = {
  running: 'good',
  approved: 'good',
  installing: 'warn',
  maintaining: 'warn',
  starting: 'warn',
  stopping: 'warn',
  deleting: 'warn',
  install_failed: 'bad',
  start_failed: 'bad',
  denied: 'bad',
};

/** Texts for states whose names are not clear enough. */
const WORDS: Record<string, string> = {
  hibernated: 'asleep',
  running: 'awake',
};

/** Texts shown in place of the state, by the code of an obstacle, and the states they apply to. Default: all. */
const STANDINGS: Readonly<Record<string, { tone: string; words: string; isSaidOf?: (state: string) => boolean }>> = {
  node_lost: { tone: 'bad', words: 'waiting' },
  no_room: { tone: 'warn', words: 'queued', isSaidOf: (state) => state === 'start_failed' },
  suspended: { tone: 'bad', words: 'suspended', isSaidOf: (state) => isTagged(state, 'at-rest') },
};

/** Shows a server's state. `code`: the obstacle (`startErrorCode`); '' if absent. */
export function stateTag(state: string, code = ''): Html {
  const special = STANDINGS[code];
  const isSaid = special !== undefined && special.isSaidOf?.(state) !== false;
  const [tone, words] = isSaid ? [special.tone, special.words] : [toneOf(state), stateWords(state)];
  return html`<span class="tag ${tone}">${words}</span>`;
}

/** The time of a stop or restart while players are warned, as RFC 3339; null or absent: no such stop. */
export interface AnnouncedStop {
  stopsAt?: string | null;
  stopIsRestart?: boolean;
}

/** Shows the state, or when the server stops or restarts while players are warned. A script counts down. */
export function standingTag(server: AnnouncedStop & { state: string }, code: string | undefined, now: number): Html {
  const { stopsAt, stopIsRestart = false } = server;
  if (typeof stopsAt !== 'string') return stateTag(server.state, code);
  const until = untilTime(Date.parse(stopsAt), now);
  return html`<span class="tag warn">${stopIsRestart ? 'restarts' : 'stops'} in ${until}</span>`;
}

/** Returns the colour of a state: `good`, `warn`, `bad` or `calm`. */
export function toneOf(state: string): string {
  return TONES[state] ?? 'calm';
}

/** Returns a server's state as pages show it: `asleep`, `start failed`. */
export function stateWords(state: string): string {
  return WORDS[state] ?? stateText(state);
}

/** Returns a state in words: `start failed`. */
export function stateText(state: string): string {
  return state.replaceAll('_', ' ');
}

/** An action possible in a state: the last part of its form's address, its label and style. */
interface StateButton {
  verb: 'start' | 'stop' | 'restart' | 'retry-install';
  label: string;
  variant: '' | 'second';
  /** Whether players are warned of it already. */
  isAnnounced?: true;
}

const START: StateButton = { verb: 'start', label: 'Start', variant: '' };
const STOP: StateButton = { verb: 'stop', label: 'Stop', variant: 'second' };

const BUTTONS: Readonly<Record<string, readonly StateButton[]>> = {
  hibernated: [START],
  start_failed: [START],
  starting: [STOP],
  installing: [STOP],
  running: [STOP, { verb: 'restart', label: 'Restart', variant: 'second' }],
  install_failed: [{ verb: 'retry-install', label: 'Try again', variant: '' }],
};

/**
 * Returns the buttons for a server's state; none in a transitional state. While players are warned, the stop is
 * cancelled, or happens at once. `code` as in `stateTag`.
 */
export function buttonsOf(
  { state, stopsAt, stopIsRestart = false }: AnnouncedStop & { state: string },
  code = '',
): readonly StateButton[] {
  if (typeof stopsAt === 'string') return announcedButtons(stopIsRestart);
  const buttons = BUTTONS[state] ?? [];
  if (code === 'no_room') return [...buttons, STOP];
  // It cannot start or install until the operator allows it again.
  return code === 'suspended' ? buttons.filter(({ verb }) => verb === 'stop') : buttons;
}

function announcedButtons(isRestart: boolean): readonly StateButton[] {
  const [verb, label] = isRestart ? (['restart', 'Restart'] as const) : (['stop', 'Stop'] as const);
  return [
    { verb: 'start', label: `Cancel the ${verb}`, variant: '' },
    { verb, label: `${label} now`, variant: 'second', isAnnounced: true },
  ];
}

/** How long players are warned, in seconds, if the reader chooses a warning. */
const WARN_SECONDS = 30;

/**
 * Returns the form of a state button, or a button that first asks about players who would be disconnected. `id`: of the
 * question; `name`: of the server, for screen readers. `form` makes the form with the text of its button and fields.
 */
export function askFirst(
  { id, verb, label, variant, isAnnounced, name = '' }: StateButton & { id: string; name?: string },
  playersOnline: number,
  form: (text: string, fields?: Record<string, string>) => Html,
): Html {
  if (playersOnline === 0 || isAnnounced || (verb !== 'stop' && verb !== 'restart')) return form(label);
  const unseen = name !== '' && html`<span class="unseen"> ${name}</span>`;
  return html`<button class="${variant}" type="button" popovertarget="${id}">${label}…${unseen}</button>
    <div class="ask" id="${id}" popover role="dialog" aria-label="${label} ${name}">
      <p>
        ${countText(playersOnline, 'player is', 'players are')} online. ${verb === 'stop' ? 'Stopping' : 'Restarting'}
        saves the world and disconnects ${playersOnline === 1 ? 'that player' : 'them'}.
      </p>
      <div class="actions">
        ${form(`Warn and ${verb} in ${WARN_SECONDS} s`, { warnSeconds: String(WARN_SECONDS) })} ${form(`${label} now`)}
        <button class="second" type="button" popovertarget="${id}" popovertargetaction="hide">Cancel</button>
      </div>
    </div>`;
}
