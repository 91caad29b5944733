/*
 * Makes the service one file, and a few for what is imported only where it is needed, which start sooner: most of a start goes to
 * finding and linking some 800 files of ours and as many of packages. The same for what its workers run. `npm ci` does this at its
 * end, and `start.js` runs what it makes as long as no file has changed since. Otherwise, and without esbuild, the files themselves
 * run, as all other programs do. In it each file begins with its name, for who reads a stack trace. By hand: `node src/bundle.js`.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { BUNDLE, FOLDER, LIST, ROOT, WORKERS, listOf } from './kernel/workers/bundled.js';

const PROGRAM = 'src/main.ts';
const WORKER = 'src/kernel/workers/main.ts';
/** What a module says that a worker runs. */
const JOB = /^export const \w+ = job\(\s*import\.meta\.url,/m;
/** Those that take long to load. The others stay where they are, as some look for files beside their own. */
const PACKAGES = /^(ipaddr\.js|koa|prom-client|typeorm|xstate|zod)$/;
/** A program that finds its own folder by what it says of itself, and what it imports. */
const OURS = /\.ts$|\/src\/kernel\/workers\/bundled\.js$/;
/** What TypeORM looks for once it is told to use it. */
const DRIVERS = [
  '@google-cloud/*',
  '@sap/*',
  'better-sqlite3',
  'ioredis',
  'mongodb',
  'mssql',
  'mysql',
  'mysql2',
  'oracledb',
  'pg',
  'pg-native',
  'pg-query-stream',
  'react-native-sqlite-storage',
  'redis',
  'sql.js',
  'sqlite3',
  'typeorm-aurora-data-api-driver',
];
/** Written by npm with every change of packages. */
const INSTALLED = 'node_modules/.package-lock.json';

/** Our files as they are, and of packages those that `within` knows. */
const ours = (within) => ({
  name: 'ours',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ path: name, importer }) =>
      importer.endsWith('.ts') && !within.test(name) ? { path: name, external: true } : undefined,
    );
    // What a file says of itself leads to others beside it, so it is still said of the file.
    onLoad({ filter: OURS }, ({ path: file }) => {
      const said = { dirname: path.dirname(file), filename: file, url: pathToFileURL(file).href, main: false };
      const text = readFileSync(file, 'utf8');
      const contents = text.replace(/\bimport\.meta\.(\w+)/g, (_, what) => JSON.stringify(said[what]));
      return { contents, loader: 'ts' };
    });
  },
});

async function make({ build }) {
  // Whole or not at all.
  const folder = `${FOLDER}-${process.pid}`;
  const common = {
    absWorkingDir: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What is imported only where it is needed stays apart.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // What packages find where they are CommonJS.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    metafile: true,
    logLevel: 'error',
  };
  const service = await build({
    ...common,
    entryPoints: [PROGRAM],
    outdir: folder,
    entryNames: path.parse(BUNDLE).name,
    external: DRIVERS,
    define: { __dirname: JSON.stringify(FOLDER), __filename: JSON.stringify(path.join(FOLDER, BUNDLE)) },
    plugins: [ours(PACKAGES)],
  });
  const files = filesOf(service);
  const jobs = files.filter((file) => JOB.test(readFileSync(path.join(ROOT, file), 'utf8')));
  const workers = await build({
    ...common,
    entryPoints: [WORKER, ...jobs],
    outbase: 'src',
    outdir: path.join(folder, WORKERS),
    plugins: [ours(/./)],
  });
  writeFileSync(path.join(folder, LIST), listOf([...new Set([...files, ...filesOf(workers), INSTALLED])]));
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(folder, FOLDER);
}

function filesOf({ metafile }) {
  return Object.keys(metafile.inputs).filter((file) => !file.startsWith('node_modules/'));
}

// Where only packages are installed, as in the first stage of an image, there is nothing to make yet.
const esbuild = await import('esbuild').catch(() => undefined);
if (esbuild !== undefined && existsSync(path.join(ROOT, PROGRAM))) {
  await make(esbuild).catch(({ message }) => {
    process.stderr.write(`The service will start more slowly, as its bundle could not be made: ${message}\n`);
  });
}
