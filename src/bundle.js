/*
 * Makes the service one file, and a few for what is imported only where it is needed, which start sooner: most of a start goes to
 * finding and linking some 800 files of ours and as many of packages. `npm ci` does this at its end, and `start.js` runs what
 * it makes as long as no file has changed since. Otherwise, and without esbuild, the files themselves run, as all other programs and
 * the service's own workers do. In it each file begins with its name, for who reads a stack trace. By hand: `node src/bundle.js`.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { BUNDLE, FOLDER, LIST, ROOT, listOf } from './bundled.js';

const PROGRAM = 'src/main.ts';
/** Those that take long to load. The others stay where they are, as some look for files beside their own. */
const PACKAGES = /^(ipaddr\.js|koa|prom-client|typeorm|xstate|zod)$/;
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

const ours = {
  name: 'ours',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ path: name, importer }) =>
      importer.endsWith('.ts') && !PACKAGES.test(name) ? { path: name, external: true } : undefined,
    );
    // What a file says of itself leads to others beside it, so it is still said of the file.
    onLoad({ filter: /\.ts$/ }, ({ path: file }) => {
      const said = { dirname: path.dirname(file), filename: file, url: pathToFileURL(file).href, main: false };
      const text = readFileSync(file, 'utf8');
      const contents = text.replace(/\bimport\.meta\.(\w+)/g, (_, what) => JSON.stringify(said[what]));
      return { contents, loader: 'ts' };
    });
  },
};

async function make({ build }) {
  // Whole or not at all.
  const folder = `${FOLDER}-${process.pid}`;
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [PROGRAM],
    outdir: folder,
    entryNames: path.parse(BUNDLE).name,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // What is imported only where it is needed stays apart.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    external: DRIVERS,
    // What packages find where they are CommonJS.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    define: { __dirname: JSON.stringify(FOLDER), __filename: JSON.stringify(path.join(FOLDER, BUNDLE)) },
    plugins: [ours],
    metafile: true,
    logLevel: 'error',
  });
  const files = Object.keys(metafile.inputs).filter((file) => !file.startsWith('node_modules/'));
  writeFileSync(path.join(folder, LIST), listOf([...files, INSTALLED]));
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(folder, FOLDER);
}

// Where only packages are installed, as in the first stage of an image, there is nothing to make yet.
const esbuild = await import('esbuild').catch(() => undefined);
if (esbuild !== undefined && existsSync(path.join(ROOT, PROGRAM))) {
  await make(esbuild).catch(({ message }) => {
    process.stderr.write(`The service will start more slowly, as its bundle could not be made: ${message}\n`);
  });
}
