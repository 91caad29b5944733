import type { ReplyOf } from '../http/operation.ts';
import { isAtLeast } from '../http/roles.ts';
import { confirmed } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { buttonForm } from '../web/panel/form.ts';
import type { Panel, ServerRequest } from '../web/panel/panel.ts';
import { copyButton, fact } from '../web/panel/parts.ts';
import { CreateServerDatabase, DropServerDatabase, GetServerDatabase, RotateServerDatabasePassword } from './api.ts';

type Database = ReplyOf<typeof GetServerDatabase>;

/** The server's own MySQL database. The password is shown only in the reply to the form that requested it. */
export function mountDatabase(panel: Panel, { isOffered }: { isOffered: boolean }): void {
  panel.serverPage({
    path: '/database',
    unlinked: !isOffered,
    show: async (request) => databasePage(request, await request.call(GetServerDatabase, { id: request.server.id })),
    forms: {
      create: async (request) =>
        withPassword(request, await request.call(CreateServerDatabase, { id: request.server.id })),
      show: async (request) => withPassword(request, await request.call(GetServerDatabase, { id: request.server.id })),
      rotate: async (request) =>
        withPassword(request, await request.call(RotateServerDatabasePassword, { id: request.server.id })),
      async drop({ call, server: { id } }) {
        await call(DropServerDatabase, { id });
        return 'dropped';
      },
    },
    done: { dropped: 'Database deleted.' },
  });
}

function databasePage(request: ServerRequest, database: Database): Page {
  const main = html`<section class="card">
    <h2>Database</h2>
    <p>A MySQL database for plugins that need one.</p>
    ${database.present ? present(request, database) : absent(request, database)}
  </section>`;
  return { title: 'Database', main };
}

function absent(request: ServerRequest, { offered }: Database): Html {
  if (!offered) {
    return html`<p class="empty">
      MySQL is not set up here. Plugins can store data in files (SQLite, H2) or in a database elsewhere.
    </p>`;
  }
  return html`<p class="empty">No database yet.</p>
    ${isAtLeast(request.role, 'member') && buttonForm(request, 'create', 'Create database', { variant: '' })}`;
}

function present(request: ServerRequest, { host, port, dbName, dbUser }: Database): Html {
  return html`<dl class="facts">
      ${Object.entries({ Host: host, Port: port, Database: dbName, User: dbUser }).map(([name, value]) => fact(name, html`<code>${value}</code>`))}
    </dl>
    ${
      isAtLeast(request.role, 'owner')
        ? html`<div class="actions">
            ${buttonForm(request, 'show', 'Show the password')}
            ${confirmed(
              'Open sessions end. Plugins need the new password to reconnect.',
              'Change the password',
              '',
              buttonForm(request, 'rotate', 'Create a new password', { variant: 'danger' }),
            )}
          </div>`
        : html`<p class="hint">Only the server’s owner can see the password.</p>`
    }
    ${
      isAtLeast(request.role, 'member') &&
      confirmed(
        'All data in it is lost permanently. Server backups don’t include it. A new database gets another name.',
        'Delete the database',
        '',
        buttonForm(request, 'drop', 'Delete permanently', { variant: 'danger' }),
      )
    }`;
}

/** Returns the page, with the password if the reader may see it. */
function withPassword(request: ServerRequest, database: Database): Page {
  const { title, main } = databasePage(request, database);
  if (database.dbPassword === '') return { title, main };
  const secret = html`<section class="card" role="status">
    <h2>The password</h2>
    <p>Copy it into your plugin’s settings. It is hidden when you reload this page.</p>
    <p>
      <code>${database.dbPassword}</code>
      ${copyButton(database.dbPassword, 'the password')}
    </p>
  </section>`;
  return { title, main: html`${secret}${main}` };
}
