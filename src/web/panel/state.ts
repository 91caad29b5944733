import { isTagged } from '../../../machines/server.ts';
import { type Html, html } from '../html.ts';

/** The tones of states. */
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

/** The words for the states that their own names do not say best. */
const WORDS: Record<string, string> = {
  hibernated: 'asleep',
  running: 'awake',
};

/** By the code of an obstacle: the words shown instead of the state, and for which states. Default: all. */
const STANDINGS: Readonly<Record<string, { tone: string; words: string; isSaidOf?: (state: string) => boolean }>> = {
  node_lost: { tone: 'bad', words: 'waits' },
  no_room: { tone: 'warn', words: 'queued', isSaidOf: (state) => state === 'start_failed' },
  suspended: { tone: 'bad', words: 'suspended', isSaidOf: (state) => isTagged(state, 'at-rest') },
};

/** The state of a server as its owner reads it. `code`: of why it does not go on (`startErrorCode`); '' for nothing. */
export function stateTag(state: string, code = ''): Html {
  const standing = STANDINGS[code];
  const isSaid = standing !== undefined && standing.isSaidOf?.(state) !== false;
  const [tone, words] = isSaid ? [standing.tone, standing.words] : [toneOf(state), WORDS[state] ?? stateText(state)];
  return html`<span class="tag ${tone}">${words}</span>`;
}

/** How a state is coloured: `good`, `warn`, `bad` or `calm`. */
export function toneOf(state: string): string {
  return TONES[state] ?? 'calm';
}

/** `start failed`. */
export function stateText(state: string): string {
  return state.replaceAll('_', ' ');
}

/** An immediate action of a state, as a button: the last part of its form's address, its words and look. */
export interface StateButton {
  verb: 'start' | 'stop' | 'restart' | 'retry-install';
  label: string;
  look: '' | 'second';
}

const START: StateButton = { verb: 'start', label: 'Start', look: '' };
const STOP: StateButton = { verb: 'stop', label: 'Stop', look: 'second' };

const BUTTONS: Readonly<Record<string, readonly StateButton[]>> = {
  hibernated: [START],
  start_failed: [START],
  starting: [STOP],
  installing: [STOP],
  running: [STOP, { verb: 'restart', label: 'Restart', look: 'second' }],
  install_failed: [{ verb: 'retry-install', label: 'Try again', look: '' }],
};

/** The buttons for a server's state; none where it is in passing. `code` as of `stateTag`. */
export function buttonsOf(state: string, code = ''): readonly StateButton[] {
  const buttons = BUTTONS[state] ?? [];
  if (code === 'no_room') return [...buttons, STOP];
  // It can't start or install before the operator allows it again.
  return code === 'suspended' ? buttons.filter(({ verb }) => verb === 'stop') : buttons;
}
