import { call, on } from '../call.ts';
import { relative, words } from '../format.ts';
import type { Messages } from '../shapes.ts';

const DIAGNOSTIC = { at: '', kind: '', code: '', summary: '', suggestion: '' } satisfies Partial<
  Messages['Diagnostic']
>;

/** `dormouse why`. */
export const why = call({
  name: 'why',
  summary: 'Why a server failed, and what to do: its last crashes and failed starts.',
  args: ['id'],
  call: ({ api }, [id]) => api.GET('/v1/servers/{id}/diagnostics', on(id)),
  shape: { entries: [DIAGNOSTIC] },
  show({ entries }, { args: [id], now }) {
    if (entries.length === 0) return [`Nothing has failed on ${id}.`];
    const lines = entries.slice(0, 10).map(({ at, kind, code, summary, suggestion }) => {
      const what = `${relative(at, now)}, ${words(kind)} (${words(code)}): ${summary}`;
      return suggestion === '' ? what : `${what}\n  ${suggestion}`;
    });
    return lines;
  },
});
