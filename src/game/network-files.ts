import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { VELOCITY, foldersIn } from './cores.ts';
import { compareVersions } from './minecraft-version.ts';
import { readPlain, writePlain } from './plain-files.ts';
import type { OwnerSettings } from './settings.ts';

/** A private backend, as its front reaches it. */
export interface Backend {
  name: string;
  /** Host and port. */
  address: string;
}

/** A server's place in a network of this service. */
export interface Network {
  /** What the front and its backends share. */
  secret: string;
  /** For the front, oldest first; absent for a backend. */
  backends?: readonly Backend[];
}

type Row = Pick<OwnerSettings, 'type' | 'version'>;

/** The secret that this service has written for a backend. */
const NOTE = '.dormouse-network';
const SECRET_FILE = 'forwarding.secret';
/** Where Velocity listens. The engine sets the port of each run. */
const BIND = '127.0.0.1:25565';

/** Returns whether this service sets up a backend of this software: Paper and its forks, from 1.13. */
export function readsForwarding(row: Row): boolean {
  return paperSettings(row) !== undefined;
}

/** Returns the file and the path of Paper's settings for Velocity, which forwards players to 1.13 and newer. */
function paperSettings({ type, version }: Row): { file: string; path: string[] } | undefined {
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
  const edit = async (name: string, change: (text: string) => string) => {
    const was = await readPlain(join(root, name));
    const text = change(was);
    if (text !== was) await writePlain(join(root, name), text, owner);
  };
  if (row.type === VELOCITY) {
    const { secret = '', backends = [] } = network ?? {};
    await edit('velocity.toml', (text) => velocityToml(text, backends));
    await edit(SECRET_FILE, (text) => (backends.length > 0 || text.trim() === '' ? secret : text));
    return;
  }
  const settings = paperSettings(row);
  if (settings === undefined) return;
  const { file, path } = settings;
  if (network !== undefined) {
    // Written first, so that a crash in between leaves no forwarding that stays on.
    await edit(NOTE, () => network.secret);
    return await edit(file, (text) => paperYaml(text, path, network.secret));
  }
  const noted = await readPlain(join(root, NOTE));
  if (noted === '') return;
  await edit(file, (text) => (text.includes(noted) ? setYaml(text, [...path, 'enabled'], 'false') : text));
  await rm(join(root, NOTE), { force: true });
}

/** Returns Paper's settings for players that Velocity forwards, below `path`. */
export function paperYaml(text: string, path: readonly string[], secret: string): string {
  const values = { enabled: 'true', 'online-mode': 'true', secret: `'${secret}'` };
  return Object.entries(values).reduce((yaml, [name, value]) => setYaml(yaml, [...path, name], value), text);
}

const YAML_KEY = /^( *)(?:([\w-]{1,64})|'([\w-]{1,64})'|"([\w-]{1,64})"):(?=[ \t\r]|$)/;

/** Sets a scalar in block mappings of YAML, the form in which games write them. Missing mappings are added. */
export function setYaml(text: string, path: readonly string[], value: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
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
    const comment = /(?:^|\s)#.*$/.exec(rest)?.[0] ?? '';
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
  return `${lines.join(eol)}${eol}`;
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
  const names = toml.keys('servers').filter((name) => name !== 'try');
  const was = stringsIn(toml.get('servers', 'try') ?? '');
  const kept = was.filter((name) => names.includes(name));
  const tried = kept.length > 0 ? kept : backends.map(({ name }) => name);
  // Velocity refuses to start if it does not know one of them.
  if (tried.join() !== was.join() || toml.get('servers', 'try') === undefined)
    toml.set('servers', 'try', `[${tried.map((name) => `"${name}"`).join(', ')}]`);
  return toml.text();
}

function stringsIn(value: string): string[] {
  const uncommented = value
    .split('\n')
    .map((line) => line.slice(0, scan(line, { depth: 0, quote: '' }).end))
    .join('\n');
  return [...uncommented.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].map(([, one = '', other = '']) => one || other);
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

const HEADER = /^[ \t]*\[\[?[ \t]*["']?([^[\]"']*)["']?[ \t]*\]/;
const ENTRY = /^[ \t]*(?:([\w-]+)|"([^"]*)"|'([^']*)')[ \t]*=[ \t]*/;

/** Edits entries of a TOML file, and leaves everything else as it is. */
class Toml {
  #statements: Statement[] = [];
  readonly #eol: string;

  constructor(text: string) {
    this.#eol = text.includes('\r\n') ? '\r\n' : '\n';
    let inside: Inside = { depth: 0, quote: '' };
    let table = '';
    for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
      const last = this.#statements.at(-1);
      const isContinued = inside.depth > 0 || inside.quote !== '';
      inside = scan(line.trimEnd(), inside);
      if (isContinued && last) {
        last.text += line;
        continue;
      }
      table = HEADER.exec(line)?.[1]?.trim() ?? table;
      this.#statements.push({ table, key: ENTRY.exec(line)?.slice(1).find(Boolean) ?? '', text: line });
    }
  }

  text(): string {
    return this.#statements.map(({ text }) => text).join('');
  }

  keys(table: string): string[] {
    return this.#statements.filter((each) => each.table === table && each.key !== '').map(({ key }) => key);
  }

  /** Returns the value as written, with comments. */
  get(table: string, key: string): string | undefined {
    return this.#find(table, key)?.text.replace(ENTRY, '');
  }

  remove(table: string, isGone: (statement: Statement) => boolean): void {
    this.#statements = this.#statements.filter((each) => each.table !== table || each.key === '' || !isGone(each));
  }

  /** Adds a table at the end unless it exists. */
  add(table: string): void {
    if (this.#statements.some((each) => each.table === table)) return;
    this.#endLine();
    this.#statements.push({ table, key: '', text: `${this.#eol}[${table}]${this.#eol}` });
  }

  /** Sets an entry, with its line's comment. A new one comes after the others of its table, with `comment`. */
  set(table: string, key: string, value: string, comment = ''): void {
    const found = this.#find(table, key);
    if (found) {
      const head = ENTRY.exec(found.text)?.[0] ?? '';
      const last = found.text.trimEnd().split('\n').at(-1) ?? '';
      const isOneLine = last.length === found.text.trimEnd().length;
      const rest = isOneLine ? last.slice(scan(last, { depth: 0, quote: '' }).end) : '';
      found.text = `${head}${value}${rest && ` ${rest}`}${this.#eol}`;
      return;
    }
    this.#endLine();
    const isOfTable = (each: Statement) => each.table === table && (each.key !== '' || HEADER.test(each.text));
    const at = this.#statements.findLastIndex(isOfTable) + 1;
    const text = `${key} = ${value}${comment && ` ${comment}`}${this.#eol}`;
    this.#statements.splice(at, 0, { table, key, text });
  }

  #find(table: string, key: string): Statement | undefined {
    return this.#statements.find((each) => each.table === table && each.key === key);
  }

  #endLine(): void {
    const last = this.#statements.at(-1);
    if (last && !last.text.endsWith('\n')) last.text += this.#eol;
  }
}
