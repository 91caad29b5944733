import { type Html, html } from '../html.ts';
import { instantText, plainName } from '../text.ts';

/** The cause of an event, from the API. */
interface Cause {
  kind: string;
  id: string;
  note: string;
}

/** The note of each page about money if it is not real. `checkout`: the payment provider, from the API. */
export function testMoneyNote({ checkout }: { checkout: string }): Html | false {
  return checkout === 'test' && html`<p class="note">This is test money: no real money moves.</p>`;
}

/** Describes a cause: `Steve joined`, `you`, `a schedule: 0 4 * * *`. Names and reasons come from outside. */
export function causeWords(cause: Cause, reader: { userId: string }): Html {
  const [before, named, after] = partsOf(cause, reader);
  return html`${before}${named !== '' && html`<bdi>${named}</bdi>`}${after}`;
}

/** The same as plain text. */
export function causeText(cause: Cause, reader: { userId: string }): string {
  return partsOf(cause, reader).join('');
}

/** Splits a description into three parts. Only the middle one is text from outside. */
function partsOf(
  { kind, id, note }: Cause,
  { userId }: { userId: string },
): [before: string, named: string, after: string] {
  const why = plainName(note, 200);
  switch (kind) {
    case 'player':
      return ['', plainName(id), ' joined'];
    case 'user':
      return [id === userId ? 'you, in the panel' : 'someone else, in the panel', '', ''];
    case 'key':
      return ['an API key', '', ''];
    case 'operator':
      return [why === '' ? 'the operator' : 'the operator: ', why, ''];
    default:
      return ['', why || 'automatically', ''];
  }
}

/**
 * Describes the cause of a wake, to follow a word for it: `: Steve joined`, ` by you, in the panel`, `: a schedule: 0 4
 * * * * *`.
 */
export function wokenWords(cause: Cause, reader: { userId: string }): Html {
  const isSomebody = ['user', 'key', 'operator'].includes(cause.kind);
  return html`${isSomebody ? ' by ' : ': '}${causeWords(cause, reader)}`;
}

/** Shows how long something has lasted. A script updates it, based on the surrounding `data-now`. */
export function sinceTime(at: number, now: number): Html {
  return html`<time
    datetime="${new Date(at).toISOString()}"
    data-since="${at}"
    title="${instantText(at)}"
    data-local-title
    >${spanText(now - at)}</time
  >`;
}

/** Shows how long it is until an instant, like `sinceTime`. */
export function untilTime(at: number, now: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}" data-until="${at}">${spanText(at - now)}</time>`;
}

/**
 * Formats a span by its two largest units: `12 s`, `3 min 5 s`, `2 h 5 min`, `4 d 2 h`. `live.js` has the same rule.
 */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** Formats RAM: `512 MB`, `2 GB`, `1.5 GB`. */
export function ramText(mb: number): string {
  return mb < 1_024 ? `${mb} MB` : `${Number((mb / 1_024).toFixed(1))} GB`;
}
