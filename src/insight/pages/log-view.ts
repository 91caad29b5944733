import { logLevel, logPieces } from '../../web/assets/log-line.js';
import { type Html, html } from '../../web/html.ts';

/** Lines of a log in their colours, warnings and errors marked. */
export function logLines(lines: readonly string[]): Html {
  let level = '';
  return html`${lines.map((line) => {
    level = logLevel(line, level);
    return html`<p class="${level}">
      ${logPieces(line).map(({ text, look }) => html`<span class="${look}">${text}</span>`)}
    </p>`;
  })}`;
}

/** The lines that hold a text, in any case and however they are coloured. */
export function foundIn(lines: readonly string[], find: string): string[] {
  const wanted = find.toLowerCase();
  const textOf = (line: string) =>
    logPieces(line)
      .map(({ text }) => text)
      .join('');
  return lines.filter((line) => textOf(line).toLowerCase().includes(wanted));
}
