import type { Readable } from 'node:stream';
import type { Engine } from '../engines/engine.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import { isTagged } from '../../machines/server.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { createSaving, saveAgain } from '../backups/saving.ts';
import type { Files } from '../files/files.ts';
import { javaTag } from '../game/container.ts';
import { SANDBOX } from '../game/cores.ts';
import { Bytes, operation } from '../http/operation.ts';
import { type Served } from '../http/serve.ts';
import type { StreamSlots } from '../http/stream-slots.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Shared } from '../servers/shared.ts';

/** How long a running game may be kept from saving. */
export const MOST_PAUSED_MS = 10 * MINUTE_MS;
/** A compose file with comments, so that `docker compose` starts it and an import recognises it. */
export const README = 'compose.readme.yaml';

export const ExportServer = operation({
  answers: 'bytes',
  reply: Bytes,
  auth: 'key',
  scope: 'files:read',
  role: 'member',
  section: 'Imports',
  id: 'ExportServer',
  method: 'get',
  path: '/v1/servers/{id}/export',
  summary: 'Export a server',
  description:
    'Returns a zip of all files, created while it is sent, with a file `' +
    `${README}\` that says how to start it elsewhere. A running game saves its world first, then pauses saving for at ` +
    'most 10 minutes; after that, or if the server starts or stops, the download breaks off. Passwords in ' +
    '`server.properties` are masked. CreateImport accepts the zip.',
  precondition: 'the server must not be starting or stopping, and no other operation may be running on it.',
  params: ServerParams,
});

/** Opens the export of servers. `withFilesLock`: held during an export, against backups and restores. */
export function exportOperations(
  shared: Shared,
  files: Files,
  { engine, consoles }: { engine: Engine; consoles: GameConsoles },
  withFilesLock: WithKeyLock,
  transferSlots: StreamSlots,
): readonly Served[] {
  const { servers, store, clock, onClose } = shared;
  const saving = createSaving(store, consoles, engine, clock);
  const closing = new AbortController();
  onClose(() => closing.abort());

  async function settled(id: string): Promise<ServerNow> {
    const now = await servers.get(id);
    if (now === undefined) throw serverNotFound(id);
    const isStill = now.state === 'running' || (isTagged(now.state, 'at-rest') && !(await engine.inspect(id))?.up);
    if (isStill && now.context.job === null) return now;
    const sentence = 'The server is starting, stopping or changing its files. Export it once that is done.';
    throw new StatusError('FAILED_PRECONDITION', 'OPERATION_IN_PROGRESS', sentence, { retryAfterSeconds: 15 });
  }

  /** Opens an export, and holds the server's files until its stream is closed. */
  function open({ id, accountId }: ServerRow, signal: AbortSignal): Promise<Readable> {
    const opened = Promise.withResolvers<Readable>();
    const work = async (): Promise<void> => {
      const now = await settled(id);
      const isRunning = now.state === 'running';
      let cancel = () => {};
      let zip: Readable | undefined;
      const broken = () => zip?.destroy(new Error('the server was started or stopped during its export'));
      const unobserve = servers.observe((changed, then) => {
        if (changed === id && (then?.state !== now.state || then.context.job !== null)) broken();
      });
      try {
        if (isRunning) await saving.off(id, now.context.rcon, signal);
        zip = await files.export(id, { path: README, text: readmeOf(now.row) }, { signal, tenant: accountId });
        const closed = new Promise((resolve) => zip?.once('close', resolve));
        if (isRunning) cancel = clock.at(clock.now() + MOST_PAUSED_MS, broken);
        opened.resolve(zip);
        await closed;
      } finally {
        cancel();
        unobserve();
        // Once under the lock, so that it cannot undo the pause of a later backup, and again if that fails.
        if (isRunning) await saveAgain(shared, servers, saving, id, AbortSignal.abort());
        if (isRunning) void saveAgain(shared, servers, saving, id, closing.signal);
      }
    };
    withFilesLock(id, work, signal).catch(opened.reject);
    return opened.promise;
  }

  return [
    shared.serveServer(ExportServer, async ({ params: { id }, server, principal, signal }) => {
      const release = transferSlots.take(principal, 'transfer');
      try {
        const zip = await open(server.row, signal);
        return { filename: `${id}.zip`, open: () => zip, close: () => (zip.destroy(), release()) };
      } catch (error) {
        release();
        throw error;
      }
    }),
  ];
}

/** Returns what another host needs to know, as a compose file of itzg's image. */
function readmeOf({ name, type, version, ramMb, properties }: ServerRow): string {
  const core = type === SANDBOX ? 'vanilla' : type;
  const java = javaTag(version, core);
  const level = properties['level-name'];
  return `# ${name.replaceAll(/\p{Cc}/gu, ' ')}: ${core} ${version}, exported from Dormouse. Passwords in server.properties are masked: set your own.
# Java ${java.slice('java'.length)}, ${ramMb} MB of memory. Agree to https://aka.ms/MinecraftEULA in eula.txt (eula=true) first.
# With Java: java -Xmx${ramMb}M -jar server.jar nogui, where server.jar is the jar of ${core} ${version}.
# With Docker: docker compose -f ${README} up, with TYPE and VERSION as below.
services:
  minecraft:
    image: itzg/minecraft-server:${java}
    ports: ['25565:25565']
    volumes: ['.:/data']
    environment:
      TYPE: ${JSON.stringify(core.toUpperCase())}
      VERSION: ${JSON.stringify(version)}
      MEMORY: ${ramMb}M${level === undefined ? '' : `\n      LEVEL: ${JSON.stringify(level.replaceAll('$', '$$$$'))}`}
`;
}
