import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { HELP } from '../../proxy/environment.ts';
import { settings } from '../../src/config.ts';
import { startService } from '../support/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8');

interface Copy {
  from: string[];
  to: string;
}

interface Step {
  word: string | undefined;
  rest: string;
}

/** The steps of each stage of the Dockerfile that copy from this folder or run a command, in order. */
const STAGES: Step[][] = read('Dockerfile')
  .replaceAll('\\\n', ' ')
  .split(/^FROM .*$/m)
  .slice(1)
  .map((stage) =>
    stage
      .split('\n')
      .map((line) => /^(COPY|RUN) (?!--from)(.+)$/.exec(line))
      .filter((found) => found !== null)
      .map(([, word, rest = '']) => ({ word, rest: rest.trim() })),
  );

function copies(stage: number): Copy[] {
  return copiesOf(STAGES[stage] ?? []);
}

function copiesOf(steps: readonly Step[]): Copy[] {
  return steps
    .filter(({ word }) => word === 'COPY')
    .map(({ rest }) => {
      const names = rest.split(/ +/);
      return { from: names.slice(0, -1), to: names.at(-1) ?? '' };
    });
}

test('every file that the Dockerfile copies exists and is part of the build context', (t) => {
  const ignored = read('.dockerignore').split('\n');
  const sent = new Set(ignored.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : [])));
  const all = [...copies(0), ...copies(1)].flatMap(({ from }) => from);
  t.true(all.length > 10);
  for (const pattern of all) {
    const names = globSync(pattern, { cwd: ROOT });
    t.true(names.length > 0, `${pattern} does not exist`);
    for (const name of names) t.true(sent.has(name.split('/')[0]!), `${name} is not in the build context`);
  }
});

/** Returns a JavaScript program and the project files that it imports. */
function withImports(program: string): string[] {
  const imported = [...read(program).matchAll(/^(?:import .* from |await import\()'(\.\.?\/.*)'/gm)];
  return [program, ...imported.flatMap(([, name = '']) => withImports(join(dirname(program), name)))];
}

test('the Dockerfile runs npm ci only after copying every file that npm reads or runs', async (t) => {
  const steps = STAGES[0] ?? [];
  const install = steps.findIndex(({ rest }) => rest.includes('npm ci'));
  t.true(install > 0);
  const there = new Set(copiesOf(steps.slice(0, install)).flatMap(({ from }) => from));
  const { workspaces, scripts } = JSON.parse(read('package.json')) as {
    workspaces: string[];
    scripts: Record<string, string>;
  };
  const programs = withImports(scripts['postinstall']!.replace('node ', ''));
  const needed = ['package.json', 'package-lock.json', '.npmrc', ...programs];
  for (const folder of workspaces) {
    const { bin = {} } = JSON.parse(read(join(folder, 'package.json'))) as { bin?: Record<string, string> };
    needed.push(join(folder, 'package.json'), ...Object.values(bin).map((program) => join(folder, program)));
  }
  t.deepEqual(
    needed.filter((name) => !there.has(name)),
    [],
  );
});

test('the service starts from the files of the image alone', async (t) => {
  t.timeout(300_000);
  const image = await mkdtemp(join(tmpdir(), 'dormouse-image-'));
  t.teardown(() => rm(image, { recursive: true }));
  for (const { from, to } of copies(1)) {
    for (const name of from.flatMap((each) => globSync(each, { cwd: ROOT }))) {
      const target = to.endsWith('/') ? join(image, to, name) : join(image, to);
      await mkdir(dirname(target), { recursive: true });
      await cp(join(ROOT, name), target, { recursive: true });
    }
  }
  await symlink(join(ROOT, 'node_modules'), join(image, 'node_modules'));
  const service = await startService(t, {}, [join(image, 'src/start.js')]);
  for (const path of ['/healthz', '/readyz', '/', '/docs', '/openapi.json'])
    t.is((await fetch(service.baseUrl + path)).status, 200, path);
  t.false(existsSync(join(image, 'test')));
});

test('compose.yaml sets only known settings, from variables that .env.example names', async (t) => {
  const compose = read('compose.yaml');
  const example = await readFile(join(ROOT, '.env.example'), 'utf8');
  const known = new Set(Object.values(settings).map(({ name }) => name));
  const [, environment = ''] = /^ {4}environment:\n((?: {6}.+\n)+)/m.exec(compose) ?? [];
  const set = [...environment.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name!);
  t.true(set.length > 10);
  t.deepEqual(
    set.filter((name) => !known.has(name)),
    [],
  );
  const asked = [...compose.matchAll(/\$\{([A-Z_]+)[:}]/g)].map(([, name]) => name!);
  t.deepEqual(
    asked.filter((name) => !new RegExp(`^#? ?${name}=`, 'm').test(example)),
    [],
  );
});

test('stack.yaml sets only known settings, from variables that docs/swarm.md names or that have a default', (t) => {
  const stack = read('stack.yaml');
  const { services } = parse(stack, { merge: true }) as {
    services: Record<'one' | 'two' | 'proxy', { environment: Record<string, string> }>;
  };
  const names = new Set(
    Object.values(settings).flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])),
  );
  const unknown = (environment: object, known: (name: string) => boolean) =>
    Object.keys(environment).filter((name) => !known(name));
  t.deepEqual(services.one, services.two);
  t.true(Object.keys(services.one.environment).length > 10);
  t.deepEqual(
    unknown(services.one.environment, (name) => names.has(name)),
    [],
  );
  t.deepEqual(
    unknown(services.proxy.environment, (name) => HELP.includes(`  ${name}`)),
    [],
  );
  const asked = [...stack.matchAll(/\$\{([A-Z_]+)(:\?|\})/g)].map(([, name]) => name!);
  const page = read('docs/swarm.md');
  t.deepEqual(
    asked.filter((name) => !page.includes(` ${name}=`) && !page.includes(`"${name}=`)),
    [],
  );
});

/** The settings, ports and volumes of each template in `.github/templates`. */
const TEMPLATES: Record<string, () => { names: string[]; ports: string[]; volumes: string[] }> = {
  'unraid.xml'() {
    const xml = read('.github/templates/unraid.xml');
    const of = (type: string) =>
      [...xml.matchAll(/<Config [^>]*Target="([^"]+)"[^>]*Type="([A-Za-z]+)"/g)]
        .filter(([, , each]) => each === type)
        .map(([, target]) => target!);
    return { names: of('Variable'), ports: of('Port'), volumes: of('Path') };
  },
  'casaos.yaml'() {
    const { services } = parse(read('.github/templates/casaos.yaml')) as {
      services: { dormouse: { environment: object; ports: { target: number }[]; volumes: { target: string }[] } };
    };
    const { environment, ports, volumes } = services.dormouse;
    const targets = (list: { target: unknown }[]) => list.map(({ target }) => String(target));
    return { names: Object.keys(environment), ports: targets(ports), volumes: targets(volumes) };
  },
  helm() {
    const chart = read('.github/templates/helm/templates/all.yaml');
    const all = (pattern: RegExp) => [...chart.matchAll(pattern)].map(([, found]) => found!);
    const { env } = parse(read('.github/templates/helm/values.yaml')) as { env: object };
    return {
      names: [...all(/- name: ([A-Z_]+)$/gm), ...Object.keys(env)],
      ports: all(/containerPort: (\d+)/g),
      volumes: all(/mountPath: (\S+)/g),
    };
  },
};

for (const [name, template] of Object.entries(TEMPLATES)) {
  test(`the template ${name} sets only known settings, with the ports and the volume of the Dockerfile`, (t) => {
    const { names, ports, volumes } = template();
    const known = new Set<string>(Object.values(settings).map((setting) => setting.name));
    t.deepEqual(
      names.filter((each) => !known.has(each)),
      [],
    );
    t.true(names.includes('ENGINE'));
    t.deepEqual(ports, /^EXPOSE (.+)$/m.exec(read('Dockerfile'))![1]!.split(' '));
    t.deepEqual(volumes, [/^VOLUME (.+)$/m.exec(read('Dockerfile'))![1]!]);
  });
}

test('each value that the Helm chart uses has a default', (t) => {
  const values = parse(read('.github/templates/helm/values.yaml')) as object;
  const used = read('.github/templates/helm/templates/all.yaml').matchAll(/\.Values\.(\w+)/g);
  t.deepEqual([...new Set([...used].map(([, name]) => name!))].toSorted(), Object.keys(values).toSorted());
});
