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
