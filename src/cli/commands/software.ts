import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { wrongUsage } from '../errors.ts';
import { askForEula } from './eula.ts';
import { software as nameOf } from '../format.ts';
import { SERVER } from '../shapes.ts';
import { UNLISTED, softwareOf } from '../software-choice.ts';
import { readServer } from '../waiting.ts';

/** `dormouse software`. */
export const software = call({
  name: 'software',
  summary: "Change a stopped server's core or Minecraft version, from its next start on.",
  args: ['id'],
  options: {
    type: { type: 'string', value: 'core', help: 'vanilla, paper, fabric, …; else the one it has.' },
    version: { type: 'string', value: 'version', help: 'A Minecraft version, or latest.' },
    unlisted: UNLISTED,
    yes: { type: 'boolean', short: 'y', help: 'Do not ask.' },
  },
  details: `A newer version upgrades the world for good, and an older one may not be able to read it: make a backup first.
To name what it has already brings the newest build of its core.

Example: ${DORMOUSE} backups make castle && ${DORMOUSE} software castle --version latest`,
  warning: ([id], { type, version }) =>
    `This makes ${id} ${nameOf({ type: type ?? '', version: version ?? 'another version' })} for good, with its world.`,
  async call({ api }, [id = ''], { type, version, unlisted }) {
    if (type === undefined && version === undefined) throw wrongUsage('Name a --type, a --version, or both.');
    const { server } = await readServer(api, id);
    const wanted = { type: type ?? server.type, version: version ?? server.version };
    return api.POST('/v1/servers/{id}:updateVersion', { ...on(id), body: await softwareOf(api, wanted, unlisted) });
  },
  shape: SERVER,
  show: (server) => [`${server.id} is ${nameOf(server)} from its next start on.`],
  after: askForEula,
});
