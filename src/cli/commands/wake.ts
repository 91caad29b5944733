import { type Subject, call, on, option } from '../command.ts';
import { aligned } from '../format.ts';
import { given, oneOf, wholeNumber } from '../parse.ts';
import type { Messages } from '../shapes.ts';
import { suggest } from '../suggest.ts';

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

function modeOf(text: string) {
  return oneOf(MODES, text, `--mode must be ${MODES.join(', ')}. ${suggest(text, MODES)}`.trimEnd());
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
      usage: 'wake show <id>',
      summary: 'Show the wake policy.',
      // An empty change returns the current policy.
      call: ({ api }, [id]) => api.POST('/v1/servers/{id}:setWakePolicy', { ...on(id), body: {} }),
      shape: POLICY,
      show: facts,
    }),
    call({
      usage: 'wake set <id>',
      summary: 'Change the wake policy. Options that are not given do not change.',
      options: {
        mode: option('mode', `${MODES.join(', ')}.`),
        'max-per-day': option('n', 'Daily limit of wakes by joining. 0 = unlimited.'),
        asleep: option('text', 'The line in the server list while the server sleeps. "" = default.'),
        closed: option('text', 'Stop players from waking the server, and show them this message. "" removes it.'),
      },
      call({ api }, [id], { mode, 'max-per-day': most, asleep, closed }) {
        const body = given({
          mode: mode === undefined ? undefined : modeOf(mode),
          maxWakesPerDay: wholeNumber('max-per-day', most, MOST_WAKES),
          asleepMotd: asleep,
          maintenanceText: closed,
        });
        return api.POST('/v1/servers/{id}:setWakePolicy', { ...on(id), body });
      },
      shape: POLICY,
      show: facts,
    }),
  ],
};
