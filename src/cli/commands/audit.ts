import { done } from '../api.ts';
import { on } from '../call.ts';
import { type Command, command } from '../command.ts';
import { relative } from '../format.ts';
import { wholeNumber } from '../parse.ts';
import { type Messages, read } from '../shapes.ts';
import { listing } from '../table.ts';
import { oneLine } from '../text.ts';
import { ofAccount } from './wallet.ts';

const ENTRY = { userId: '', action: '', detail: '', createdAt: '' } satisfies Partial<Messages['AuditEntry']>;
const SHOWN = 20;
const MOST = 1000;

/** `dormouse audit`. */
export const audit: Command = command({
  name: 'audit',
  summary: 'Who did what with a server, newest first; without one, with your account.',
  args: ['[id]'],
  options: { last: { type: 'string', short: 'n', value: 'n', help: `How many entries (${SHOWN}).` } },
  async run({ api, json, document, terminal: { out } }, [id], { last }) {
    const query = { limit: wholeNumber('last', last, MOST) ?? SHOWN };
    const reply =
      id === undefined
        ? await done(api.GET('/v1/accounts/{accountId}/audit', { params: { ...(await ofAccount(api)), query } }))
        : await done(api.GET('/v1/servers/{id}/audit', { params: { ...on(id).params, query } }));
    if (json) return document(reply);
    const now = Date.now();
    const rows = read({ entries: [ENTRY] }, reply, oneLine).entries.map(({ createdAt, action, detail, userId }) => [
      relative(createdAt, now),
      action,
      detail,
      userId,
    ]);
    for (const line of listing(out, ['WHEN', 'WHAT', 'DETAIL', 'USER'], rows, 'Nothing yet.')) out.line(line);
  },
});
