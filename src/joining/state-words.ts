import { isTagged } from '../../machines/server.ts';
import type { PublicServer } from './public-server.ts';
import type { WakePolicy } from './wake-policies.ts';

/** The label, tone and hint of a state, for strangers. */
export interface StateWords {
  label: string;
  tone: 'up' | 'asleep' | 'passing' | 'down';
  /** The player's next step; '' without one. */
  hint: string;
}

/** A server's state in words for players. Never includes why it failed. */
export function stateWords(server: PublicServer): StateWords {
  const { state, maintenance, standing, wakeMode, playersOnline, playersMax } = server;
  if (standing === 'node_lost') return NOT_ANSWERING;
  if (maintenance !== '' && state !== 'running') return { label: 'Maintenance', tone: 'passing', hint: '' };
  if (standing === 'no_room') return NO_ROOM;
  if (standing === 'suspended' && isTagged(state, 'at-rest')) return CLOSED;
  switch (state) {
    case 'running': {
      const players = playersOnline === undefined ? '' : ` · ${playersOnline}/${playersMax}`;
      return { label: `Online${players}`, tone: 'up', hint: '' };
    }
    case 'hibernated':
      return { label: 'Asleep', tone: 'asleep', hint: `Asleep until someone joins. ${WAKES[wakeMode]}` };
    case 'starting':
      return { label: 'Waking up', tone: 'passing', hint: 'Join now. You are connected once it is ready.' };
    case 'stopping':
      return { label: 'Falling asleep', tone: 'passing', hint: 'It is saving its world.' };
    case 'installing':
      return { label: 'Being set up', tone: 'passing', hint: 'Come back in a few minutes.' };
    default:
      return { label: 'Needs its owner', tone: 'down', hint: 'Its owner can bring it back.' };
  }
}

const NOT_ANSWERING: StateWords = {
  label: 'Not responding',
  tone: 'down',
  hint: 'Its machine is not responding. It continues when the machine is back.',
};
const NO_ROOM: StateWords = {
  label: 'Waiting for capacity',
  tone: 'passing',
  hint: 'No capacity right now. It starts automatically when there is.',
};
const CLOSED: StateWords = { label: 'Closed', tone: 'down', hint: 'Closed for now.' };

const WAKES: Readonly<Record<WakePolicy['mode'], string>> = {
  anyone: 'Joining wakes it.',
  verified: 'Joining wakes it.',
  known: 'Players who have played there before can wake it by joining.',
  whitelist: 'Whitelisted players can wake it by joining.',
  nobody: 'Only its owner can wake it.',
};
