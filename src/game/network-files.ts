import { join } from 'node:path';
import { isGone, textIfThere } from '../jail/if-there.ts';
import { type Jail, openJail } from '../jail/jail.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { MIB } from '../kernel/units.ts';
import { VELOCITY, foldersIn } from './cores.ts';
import { compareVersions } from './minecraft-version.ts';
import { notPlain, readPlain } from './plain-files.ts';

/** A private backend, as its front reaches it. */
export interface Backend {
  name: string;
  /** Host and port. */
  address: string;
}

/** A server's place in a network of this service. */
export interface Network {
  /** The forwarding secret that the front and its backends share. */
  secret: string;
  /** For the front, oldest first; absent for a backend. */
  backends?: readonly Backend[];
}

/** The software of a server. */
interface Row {
  type: string;
  version: string;
}

/** The secret that this service has written for a backend. */
const NOTE = '.dormouse-network';
const SECRET_FILE = 'forwarding.secret';
/** Where Velocity listens. The engine sets the port of each run. */
const BIND = '127.0.0.1:25565';

/** Returns the file and the path of Paper's settings for Velocity, from 1.13; undefined for other software. */
export function paperSettings({ type, version }: Row): { file: string; path: string[] } | undefined {
  const isPaper = foldersIn(type).some(({ loaders }) => loaders.includes('paper') || loaders.includes('folia'));
  if (!isPaper || (compareVersions(version, '1.13') ?? 0) < 0) return undefined;
  return (compareVersions(version, '1.19') ?? 0) < 0
    ? { file: 'paper.yml', path: ['settings', 'velocity-support'] }
    : { file: 'config/paper-global.yml', path: ['proxies', 'velocity'] };
}

/**
 * Keeps the files of a front or of a backend in step with its network. Call it before each boot. The owner's other
 * lines and comments stay. A backend that has left its network accepts players without a front again.
 */
export async function writeNetworkFiles(
  root: string,
  row: Row,
  network: Network | undefined,
  owner?: FileOwner,
): Promise<void> {
  const settings = paperSettings(row);
  const noted = settings && network === undefined ? await readPlain(join(root, NOTE)) : '';
  if (row.type !== VELOCITY && (settings === undefined || (network === undefined && noted === ''))) return;
  await using jail = await openJail(root, { owner, secrets: 'open' });
  if (row.type === VELOCITY) {
    const { secret = '', backends = [] } = network ?? {};
    await edit(jail, 'velocity.toml', (text) => velocityToml(text, backends));
    await edit(jail, SECRET_FILE, (text) => (backends.length > 0 || text.trim() === '' ? secret : text));
  } else if (settings && network) {
    // Written first, so that a crash in between leaves no forwarding that stays on.
    await edit(jail, NOTE, () => network.secret);
    if (settings.file.startsWith('config/') && !(await isThere(jail, 'config'))) await jail.mkdir('config');
    await edit(jail, settings.file, (text) => paperYaml(text, settings.path, network.secret));
  } else if (settings) {
    const off = (text: string) => setYaml(text, [...settings.path, 'enabled'], 'false');
    await edit(jail, settings.file, (text) => (text.includes(noted) ? off(text) : text));
    await jail.remove(NOTE);
  }
}

/** Changes a text in place. A game may have put a link or a large file there: rejects with EngineError or StatusError. */
async function edit(jail: Jail, path: string, change: (text: string) => string): Promise<void> {
  const found = await textIfThere(jail, path, MIB);
  if (found === undefined && (await isThere(jail, path))) throw notPlain(path);
  const was = found ?? '';
  const text = change(was);
  if (text === was) return;
  await using file = await jail.replace(path, { mode: 0o640 });
  await file.write(Buffer.from(text));
  await file.commit();
}

async function isThere(jail: Jail, path: string): Promise<boolean> {
  try {
    return Boolean(await jail.stat(path));
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Returns Paper's settings for players that Velocity forwards, below `path`. */
export function paperYaml(text: string, path: readonly string[], secret: string): string {
  const values = { enabled: 'true', 'online-mode': 'true', secret: `'${secret}'` };
  return Object.entries(values).reduce((yaml, [name, value]) => setYaml(yaml, [...path, name], value), text);
}

const YAML_KEY = /^( *)(?:([\w-]{1,64})|'([\w-]{1,64})'|"([\w-]{1,64})"):(?=[ \t\r]|$)/;

/** Sets a scalar in block mappings of YAML, the form in which games write them. Missing mappings are added. */
export function setYaml(text: string, path: readonly string[], value: string): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const keyAt = (at: number) => YAML_KEY.exec(lines[at] ?? '') ?? undefined;
  const nameAt = (at: number) => keyAt(at)?.slice(2).find(Boolean);
  const indentAt = (at: number) => (lines[at] ?? '').search(/[^ ]/);
  const isBlank = (at: number) => /^\s*(?:#|$)/.test(lines[at] ?? '');
  let [from, to, indent] = [0, lines.length, 0];
  for (const [depth, name] of path.entries()) {
    const isLeaf = depth === path.length - 1;
    let at = from;
    while (at < to && !(indentAt(at) === indent && nameAt(at) === name)) at += 1;
    if (at === to) {
      // The top level ends with the file. Other mappings get the key first.
      at = depth === 0 ? to : from;
      lines.splice(at, 0, `${' '.repeat(indent)}${name}:`);
      to += 1;
    }
    const head = keyAt(at)?.[0] ?? '';
    const rest = (lines[at] ?? '').slice(head.length);
    // The blank before the comment. A quoted scalar may contain such a text itself.
    const blank = /^\s*["']/.test(rest) ? scan(rest, OUTSIDE).end - 1 : rest.search(/[ \t]#/);
    const comment = blank >= 0 && rest[blank + 1] === '#' ? rest.slice(blank) : '';
    if (isLeaf) lines[at] = `${head} ${value}${comment}`;
    else if (rest.slice(0, rest.length - comment.length).trim() !== '') lines[at] = `${head}${comment}`;
    from = at + 1;
    let end = from;
    while (end < to && (isBlank(end) || indentAt(end) > indent)) end += 1;
    to = end;
    if (isLeaf) break;
    let child = from;
    while (child < to && isBlank(child)) child += 1;
    indent = child < to ? indentAt(child) : indent + 2;
  }
  return `${lines.join('\n')}\n`;
}

/** Marks the lines of servers that this service has added. */
const MARK = '# added by Dormouse';
const FIRST = 'config-version = "2.7"\nonline-mode = true\n';

/** Returns `velocity.toml` with the backends. Those that have left the network are removed. */
export function velocityToml(text: string, backends: readonly Backend[]): string {
  const toml = new Toml(text === '' ? FIRST : text);
  toml.set('', 'bind', `"${BIND}"`);
  if (backends.length > 0 || text === '') {
    toml.set('', 'player-info-forwarding-mode', '"modern"');
    toml.set('', 'forwarding-secret-file', `"${SECRET_FILE}"`);
  }
  // Without this table, Velocity expects the servers of its example.
  toml.add('servers');
  toml.add('forced-hosts');
  const known = new Set(backends.map(({ name }) => name));
  toml.remove('servers', ({ key, text: line }) => line.trimEnd().endsWith(MARK) && !known.has(key));
  for (const { name, address } of backends) toml.set('servers', name, `"${address}"`, MARK);
  const listed = Map.groupBy(toml.entries('servers'), ({ key }) => key);
  const was = listed.get('try')?.[0]?.text;
  listed.delete('try');
  const names = stringsIn(was ?? '');
  const kept = names.filter((name) => listed.has(name));
  const tried = kept.length > 0 ? kept : backends.map(({ name }) => name);
  // Velocity refuses to start if it does not know one of them.
  if (was === undefined || tried.join() !== names.join())
    toml.set('servers', 'try', `[${tried.map((name) => `"${name}"`).join(', ')}]`);
  return toml.text();
}

/** Returns the strings in an array, without those in comments. */
function stringsIn(array: string): string[] {
  const found = array.matchAll(/#[^\n]*|"([^"\n]*)"|'([^'\n]*)'/g);
  return [...found].map(([, one, other]) => one ?? other).filter((each) => each !== undefined);
}

/** Lines of a TOML file that belong together: a header, an entry, or neither. */
interface Statement {
  table: string;
  key: string;
  text: string;
}

/** Whether a TOML text is inside brackets, or inside a string of several lines, at the end of a line. */
interface Inside {
  depth: number;
  quote: string;
}

const OUTSIDE: Inside = { depth: 0, quote: '' };

/** Reads a line. `end`: where its comment begins. */
function scan(line: string, { depth, quote }: Inside): Inside & { end: number } {
  let at = 0;
  for (; at < line.length; at++) {
    const char = line[at]!;
    if (quote !== '') {
      if (char === '\\' && quote.startsWith('"')) at += 1;
      else if (line.startsWith(quote, at)) {
        at += quote.length - 1;
        quote = '';
      }
    } else if (char === '#') break;
    else if (char === '"' || char === "'") {
      quote = line.startsWith(char.repeat(3), at) ? char.repeat(3) : char;
      at += quote.length - 1;
    } else if (char === '[' || char === '{') depth += 1;
    else if (char === ']' || char === '}') depth = Math.max(0, depth - 1);
  }
  // Only strings with three quotes continue on the next line.
  return { depth, quote: quote.length === 3 ? quote : '', end: Math.min(at, line.length) };
}

const HEADER = /^[ \t]*\[{1,2}([^[\]]*)\]/;
const ENTRY = /^[ \t]*(?:([\w-]+)|"([^"]*)"|'([^']*)')[ \t]*=[ \t]*/;

/** Edits entries of a TOML file, and leaves everything else as it is. */
class Toml {
  #statements: Statement[] = [];

  constructor(text: string) {
    let inside = OUTSIDE;
    let table = '';
    for (const each of text.replace(/\n$/, '').split('\n')) {
      const line = `${each}\n`;
      const last = this.#statements.at(-1);
      const isContinued = inside.depth > 0 || inside.quote !== '';
      inside = scan(line.trimEnd(), inside);
      if (isContinued && last) {
        last.text += line;
        continue;
      }
      table = HEADER.exec(line)?.[1]?.replaceAll(/["']/g, '').trim() ?? table;
      this.#statements.push({ table, key: ENTRY.exec(line)?.slice(1).find(Boolean) ?? '', text: line });
    }
  }

  text(): string {
    return this.#statements.map(({ text }) => text).join('');
  }

  entries(table: string): Statement[] {
    return this.#statements.filter((each) => each.table === table && each.key !== '');
  }

  remove(table: string, isGone: (statement: Statement) => boolean): void {
    this.#statements = this.#statements.filter((each) => each.table !== table || each.key === '' || !isGone(each));
  }

  /** Adds a table at the end unless it exists. */
  add(table: string): void {
    if (this.#statements.some((each) => each.table === table)) return;
    for (const text of ['\n', `[${table}]\n`]) this.#statements.push({ table, key: '', text });
  }

  /** Sets an entry, with its line's comment. A new one comes after the others of its table, with `comment`. */
  set(table: string, key: string, value: string, comment = ''): void {
    const found = this.entries(table).find((each) => each.key === key);
    if (found) {
      const head = ENTRY.exec(found.text)?.[0] ?? '';
      const was = found.text.trimEnd();
      const rest = was.includes('\n') ? '' : was.slice(scan(was, OUTSIDE).end);
      found.text = `${head}${value}${rest && ` ${rest}`}\n`;
      return;
    }
    const isOfTable = (each: Statement) => each.table === table && (each.key !== '' || HEADER.test(each.text));
    const at = this.#statements.findLastIndex(isOfTable) + 1;
    const text = `${key} = ${value}${comment && ` ${comment}`}\n`;
    this.#statements.splice(at, 0, { table, key, text });
  }
}
