import { type Html, html } from '../html.ts';

/** What kinds of states there are, as they are coloured. */
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
  access_denied: 'bad',
};

/** The words for the states that their own names do not say best. */
const WORDS: Record<string, string> = {
  hibernated: 'asleep',
  running: 'awake',
};

/** The state of a server as its owner reads it. */
export function stateTag(state: string): Html {
  return html`<span class="tag ${toneOf(state)}">${WORDS[state] ?? stateText(state)}</span>`;
}

/** How a state is coloured: `good`, `warn`, `bad` or `calm`. */
export function toneOf(state: string): string {
  return TONES[state] ?? 'calm';
}

/** `start failed`. */
export function stateText(state: string): string {
  return state.replaceAll('_', ' ');
}

/** What may be done at once with a server in some state, as a button: the last part of its form's address, its words and look. */
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

/** The buttons for a server's state; none where it is in passing. */
export function buttonsOf(state: string): readonly StateButton[] {
  return BUTTONS[state] ?? [];
}
