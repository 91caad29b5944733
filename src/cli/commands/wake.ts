import { call, on } from '../call.ts';
import type { Subject } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { wholeNumber } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import { didYouMean, nearest } from '../suggest.ts';
import { aligned } from '../table.ts';

const POLICY = { mode: '', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' } satisfies Messages['WakePolicy'];
const MODES = ['anyone', 'known', 'whitelist', 'verified', 'nobody'] as const;
const MOST_WAKES = 100_000;

/** The description of each mode. */
const WHO: Record<string, string> = {
  anyone: 'anyone who joins',
  known: 'players on the whitelist, operators, and players who have joined before',
  whitelist: 'players on the whitelist',
  verified: 'players with a verified Minecraft account',
  nobody: 'players cannot wake it',
};

function modeOf(text: string): (typeof MODES)[number] {
  const mode = MODES.find((each) => each === text);
  if (mode !== undefined) return mode;
  throw wrongUsage(`--mode must be ${MODES.join(', ')}. ${didYouMean(nearest(text, MODES))}`.trimEnd());
}

function facts({ mode, maxWakesPerDay, asleepMotd, maintenanceText }: typeof POLICY): string[] {
  const rows = [
    ['woken by', `${mode} (${WHO[mode] ?? mode})`],
    ['wakes per day', maxWakesPerDay === 0 ? 'unlimited' : `at most ${maxWakesPerDay}`],
    ['asleep text', asleepMotd],
    ['closed text', maintenanceText],
  ];
  return aligned(rows.filter(([, value]) => value !== ''));
}

/** `dormouse wake`. */
export const wake: Subject = {
  name: 'wake',
  summary: 'Who can wake a server by joining, and its messages while it sleeps.',
  commands: [
    call({
      name: 'wake show',
      summary: 'Show the wake policy.',
      args: ['id'],
      // An empty change returns the current policy.
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}:setWakePolicy', { ...on(id), body: {} }),
      shape: POLICY,
      show: facts,
    }),
    call({
      name: 'wake set',
      summary: 'Change the wake policy. Options that are not given do not change.',
      args: ['id'],
      options: {
        mode: { type: 'string', value: 'mode', help: `${MODES.join(', ')}.` },
        'max-per-day': { type: 'string', value: 'n', help: 'Daily limit of wakes by joining. 0 = unlimited.' },
        asleep: {
          type: 'string',
          value: 'text',
          help: 'The line in the server list while the server sleeps. "" = default.',
        },
        closed: {
          type: 'string',
          value: 'text',
          help: 'Stop players from waking the server, and show them this message. "" removes it.',
        },
      },
      call({ api }, [id], { mode, 'max-per-day': most, asleep, closed }) {
        const maxWakesPerDay = wholeNumber('max-per-day', most, MOST_WAKES);
        const body = {
          ...(mode !== undefined && { mode: modeOf(mode) }),
          ...(maxWakesPerDay !== undefined && { maxWakesPerDay }),
          ...(asleep !== undefined && { asleepMotd: asleep }),
          ...(closed !== undefined && { maintenanceText: closed }),
        };
        return api.POST('/v1/servers/{id}:setWakePolicy', { ...on(id), body });
      },
      shape: POLICY,
      show: facts,
    }),
  ],
};
