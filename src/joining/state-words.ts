import type { PublicServer } from './public-server.ts';

/** How a state looks and reads to strangers. */
export interface StateWords {
  label: string;
  tone: 'up' | 'asleep' | 'passing' | 'down';
  /** What a player can do; '' for nothing to say. */
  hint: string;
}

/** A state of a server as a player reads it. Nothing in it tells why a server failed. */
export function stateWords({ state, maintenance, playersOnline, playersMax }: PublicServer): StateWords {
  if (maintenance !== '' && state !== 'running') return { label: 'Maintenance', tone: 'passing', hint: '' };
  switch (state) {
    case 'running': {
      const players = playersOnline === undefined ? '' : ` · ${playersOnline}/${playersMax}`;
      return { label: `Online${players}`, tone: 'up', hint: '' };
    }
    case 'hibernated':
      return { label: 'Asleep', tone: 'asleep', hint: 'It sleeps while nobody plays. Joining wakes it.' };
    case 'starting':
      return { label: 'Waking up', tone: 'passing', hint: 'Join now: you wait in line, and are let in when it is up.' };
    case 'stopping':
      return { label: 'Falling asleep', tone: 'passing', hint: 'It saves its world.' };
    case 'installing':
      return { label: 'Being set up', tone: 'passing', hint: 'Come back in a few minutes.' };
    default:
      return { label: 'Needs its owner', tone: 'down', hint: 'Its owner can bring it back.' };
  }
}
