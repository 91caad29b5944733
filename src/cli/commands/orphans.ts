import { call } from '../call.ts';
import type { Subject } from '../command.ts';
import { relative } from '../format.ts';
import type { Messages } from '../shapes.ts';
import { listing } from '../table.ts';

const ORPHAN = { kind: '', id: '', up: false as boolean, at: '' } satisfies Partial<Messages['Orphan']>;

/** `dormouse orphans`. */
export const orphans: Subject = {
  name: 'orphans',
  summary: 'What belongs to no server: games, databases, data, backups, here and off site.',
  commands: [
    call({
      name: 'orphans list',
      summary: 'List them.',
      call: ({ api }) => api.GET('/v1/operator/orphans'),
      shape: { orphans: [ORPHAN], unread: [''] },
      show({ orphans, unread }, { context: { terminal }, now }) {
        const rows = orphans.map(({ kind, id, up, at }) => [
          kind,
          id,
          at === '' ? 'not known' : relative(at, now),
          up ? 'runs' : '',
        ]);
        const lines = listing(terminal.out, ['KIND', 'ID', 'SINCE', ''], rows, 'There are none.');
        return unread.length === 0 ? lines : [...lines, `Not to be listed now: ${unread.join(', ')}.`];
      },
    }),
    call({
      name: 'orphans remove',
      summary: 'Remove one for good. A running game goes before its files.',
      args: ['kind', 'id', 'reason'],
      warning: ([kind, id]) => `The ${kind} of ${id} will be removed for good.`,
      call: ({ api }, [kind = '', id = '', reason = '']) =>
        api.POST('/v1/operator/orphans:remove', { body: { kind, id, reason } }),
      shape: {},
      show: (_, { args: [kind, id] }) => [`The ${kind} of ${id} is removed.`],
    }),
  ],
};
