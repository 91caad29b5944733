import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { decide } from '../cli/pages.ts';
import { fewAtATime } from '../support/few.ts';
import { modrinth, mrpack } from '../support/modrinth.ts';
import { isHere } from '../support/needs.ts';
import type { Service } from '../support/service.ts';
import { unknownIn } from './calls.ts';
import { PAGES, type Part, partsOf, readPage } from './blocks.ts';
import { type ShellSession, openSession } from './session.ts';

/** The blocks that are not run here, by their first words, with the reason. Their syntax is still checked. */
const NOT_RUN: readonly { page: string; begins: string; why: string }[] = [
  {
    page: 'docs/one-machine.md',
    begins: 'docker build -t dormouse .',
    why: 'flows/image-alone.real.test.ts runs it, on a base image that needs no registry',
  },
  {
    page: 'docs/swarm.md',
    begins: '# on ',
    why: 'flows/stack.real.test.ts runs them on three engines',
  },
  {
    page: 'docs/upgrade-and-backup.md',
    begins: 'npm run backup-service move.tar.gz',
    why: 'flows/service-backup.real.test.ts runs it with a PostgreSQL',
  },
  {
    page: 'README.md',
    begins: 'npm ci && npm start   #',
    why: 'the second line is the run of which this test is a part',
  },
];

/** Additional settings of a page's session. */
const SETTINGS: Record<string, (t: ExecutionContext) => Promise<Record<string, string>>> = {
  'docs/mods.md': modsOfPage,
  'docs/paper-with-friends.md': javaOfPage,
};

/** Programs that run a page's session with private mounts, because the page writes to folders of the machine. */
const WITHIN: Record<string, readonly string[]> = {
  'docs/keep-it-running.md': ['unshare', '--mount', '--propagation', 'private'],
  'docs/one-machine.md': ['unshare', '--mount', '--propagation', 'private'],
};

const takePlace = fewAtATime(3);

for (const page of PAGES) {
  const parts = partsOf(readPage(page));
  const runs = parts.some((part) => isShell(part) || part.kind === 'run');
  if (!runs) continue;
  test.runIf(!WITHIN[page] || isHere('mounts'))(`${page}: every command runs in order in a fresh folder`, async (t) => {
    t.timeout(600_000);
    await takePlace(t);
    t.timeout(600_000);
    const session = await openSession(t, (await SETTINGS[page]?.(t)) ?? {}, {
      within: WITHIN[page],
      onOutput: approved(t),
    });
    let output = '';
    for (const part of parts) {
      const { file, needs: need, text } = part;
      if (need !== undefined && !isHere(need)) continue;
      if (file !== undefined) await writeFile(join(session.folder, file), session.withPorts(text));
      else if (part.kind === 'run' || (isShell(part) && !isLeftOut(page, part)))
        output = await runPart(t, session, page, part);
      else if (part.language === 'json' && output !== '')
        t.deepEqual(keysMissing(text, output), [], `${page}:${part.line} does not match the output of its command`);
    }
    const calls = await readFile(join(session.folder, 'calls.log'), 'utf8').catch(() => '');
    t.deepEqual(unknownIn(calls), []);
  });
}

async function runPart(
  t: ExecutionContext,
  session: ShellSession,
  page: string,
  { text, line }: Part,
): Promise<string> {
  return session.run(text).catch((error: unknown) => {
    t.fail(`${page}:${line}: ${(error as Error).message}`);
    return '';
  });
}

/** Returns the keys of a sample reply that the real output lacks. A sample may be shortened, but not invented. */
function keysMissing(sample: string, output: string): string[] {
  return [...sample.matchAll(/"([^"]+)":/g)].map(([key]) => key).filter((key) => !output.includes(key));
}

test('every code block in the docs is valid shell, JSON or YAML, and every skipped block exists', (t) => {
  for (const page of PAGES) {
    for (const { kind, language, text, line } of partsOf(readPage(page))) {
      if (kind !== 'fence') continue;
      const where = `${page}:${line}`;
      if (language === 'sh') t.notThrows(() => execFileSync('bash', ['-n'], { input: text, stdio: 'pipe' }), where);
      else if (language === 'json') t.notThrows(() => JSON.parse(text), where);
      else if (language === 'yaml') t.notThrows(() => parse(text), where);
      else t.true(['', 'js', 'mermaid', 'text'].includes(language), `${where} is in ${language}, which is not checked`);
    }
  }
  for (const { page, begins } of NOT_RUN)
    t.true(
      fences(page).some((text) => text.startsWith(begins)),
      begins,
    );
});

function fences(page: string): string[] {
  return partsOf(readPage(page))
    .filter(isShell)
    .map(({ text }) => text);
}

function isShell({ kind, language }: Part): boolean {
  return kind === 'fence' && language === 'sh';
}

function isLeftOut(page: string, { text }: Part): boolean {
  return NOT_RUN.some((each) => each.page === page && text.startsWith(each.begins));
}

/** Starts a local Modrinth with the projects that the page names. */
async function modsOfPage(t: ExecutionContext): Promise<Record<string, string>> {
  const registry = await modrinth(t);
  registry.project('FabricApi', [{ id: 'f1' }]);
  registry.project('lithium', [{ id: 'l1', requires: [{ project_id: 'FabricApi' }] }]);
  const content = await mrpack({ dependencies: { minecraft: '1.21.1', 'fabric-loader': '0.16.9' }, files: [] });
  registry.project('adrenaserver', [{ id: 'a1', content, filename: 'a.mrpack' }], { project_type: 'modpack' });
  return { MODRINTH_URL: registry.url };
}

/** A stand-in for Java. It runs the echo core in place of one jar. The last value of a repeated property counts. */
const JAVA = `#!/bin/sh
[ "$1" = -version ] && exit
previous=
for jar; do [ "$previous" = -jar ] && break; previous=$jar; done
grep -qx 'a jar' "$jar" || exit
SERVER_PORT=$(sed -n 's/^server-port=//p' server.properties | tail -n 1)
export SERVER_PORT
exec "$(dirname "$0")/node" "$(dirname "$0")/game.mts"
`;

/** Installs the stand-in for Java. Its folder is complete, because a game sees no other files of the machine. */
async function javaOfPage(t: ExecutionContext): Promise<Record<string, string>> {
  const home = await mkdtemp(join(tmpdir(), 'dormouse-java-'));
  t.teardown(() => rm(home, { recursive: true, force: true }));
  const bin = join(home, 'bin');
  await mkdir(bin);
  await writeFile(join(home, 'release'), 'JAVA_VERSION="21.0.7"\n');
  await writeFile(join(bin, 'java'), JAVA);
  await copyFile(process.execPath, join(bin, 'node'));
  await copyFile(join(import.meta.dirname, '../fixtures/echo-core/sandbox/main.ts'), join(bin, 'game.mts'));
  for (const path of [home, bin, join(bin, 'java'), join(bin, 'node')]) await chmod(path, 0o755);
  return { JAVA_HOMES: home };
}

/** Acts as the person at the browser, who approves a sign-in link that a command prints. */
function approved(t: ExecutionContext) {
  let service: Pick<Service, 'dataDir' | 'baseUrl'> | undefined;
  return (line: string, { folder, settings }: ShellSession): void => {
    const [link] = /http:\/\/\S+\/device\?\S*code=[\w-]+/.exec(line) ?? [];
    if (link === undefined) return;
    service ??= { dataDir: join(folder, 'data'), baseUrl: `http://localhost:${settings['HTTP_PORT']}` };
    void decide(service, link, 'approve').catch((error: unknown) => t.fail(String(error)));
  };
}
