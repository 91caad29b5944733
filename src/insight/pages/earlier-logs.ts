import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import { StatusError } from '../../kernel/status.ts';
import { type Html, html } from '../../web/html.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { sizeText } from '../../web/text.ts';

/** The folder of a game's logs: the newest is `latest.log`, earlier ones are compressed and named by day. */
const FOLDER = 'logs';
const PACKED = /^\d{4}-\d\d-\d\d-\d+\.log\.gz$/;
const MOST = 10;

/** Lists the logs that the game stored of its earlier runs, newest first; undefined if it stored none. */
export async function earlierLogs({ call, server }: ServerRequest): Promise<Html | undefined> {
  const entries = await listed();
  const packed = entries.filter(({ name, isDir }) => !isDir && PACKED.test(name)).sort(newestFirst);
  if (packed.length === 0) return undefined;
  return html`<h3>Earlier runs</h3>
    <ul class="list logs">
      ${packed.slice(0, MOST).map(({ name, size }) => {
        const at = `${BROWSER_PREFIX}/v1/servers/${server.id}/file:download?path=${FOLDER}/${name}`;
        return html`<li>
          <span>${name.replace('.log.gz', '')}</span> <span class="soft">${sizeText(size)}</span>
          <button class="link" type="button" data-read="${at}" data-scripted hidden>
            Read<span class="unseen"> ${name}</span>
          </button>
          <a href="${at}" download>Download<span class="unseen"> ${name}</span></a>
        </li>`;
      })}
    </ul>
    ${packed.length > MOST && html`<p><a href="/servers/${server.id}/files?path=${FOLDER}">All ${packed.length} logs</a></p>`}`;

  async function listed() {
    try {
      return (await call('ListFiles', { id: server.id }, { path: FOLDER })).entries;
    } catch (error) {
      // Not every game keeps logs, and the path may not be a folder.
      if (error instanceof StatusError && error.code !== 'INTERNAL') return [];
      throw error;
    }
  }
}

/** Sorts by day and run of that day. */
function newestFirst(one: { name: string }, other: { name: string }): number {
  return other.name.localeCompare(one.name, 'en', { numeric: true });
}
