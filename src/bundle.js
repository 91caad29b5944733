/*
 * Bundles the service into one file, plus a few for modules that are imported only when needed, and bundles the code of its workers in the
 * same way. A bundle starts faster: most of a start is spent on finding and linking some 800 files of ours and as many of packages.
 *
 * `npm ci` runs this program at its end. `start.js` runs the bundle as long as no source file has changed since. Otherwise, or without
 * esbuild, the source files run, as in all other programs. In the bundle, each file's code begins with the file's name, for readers of
 * stack traces. By hand: `node src/bundle.js`.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { BUNDLE, FOLDER, LIST, ROOT, WORKERS, listOf } from './kernel/workers/bundled.js';

const PROGRAM = 'src/main.ts';
const WORKER = 'src/kernel/workers/main.ts';
/** Matches a module that defines a job for workers. */
const JOB = /^export const \w+ = job\(\s*import\.meta\.url,/m;
/** Packages that take long to load. Other packages are not bundled, because some read files next to their own. */
const PACKAGES = /^(ipaddr\.js|koa|prom-client|typeorm|xstate|zod)$/;
/** Our files that may read `import.meta`: the TypeScript files, and `bundled.js`, which they import. */
const OURS = /\.ts$|\/src\/kernel\/workers\/bundled\.js$/;
/** Drivers that TypeORM loads only if a data source uses them. */
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
/** npm writes this file with every change of packages. */
const INSTALLED = 'node_modules/.package-lock.json';

/**
 * Returns an esbuild plugin. It bundles our own files, and leaves out the packages they import that do not match
 * `within`.
 */
const ours = (within) => ({
  name: 'ours',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ path: name, importer }) =>
      importer.endsWith('.ts') && !within.test(name) ? { path: name, external: true } : undefined,
    );
    // Code finds files next to its own through `import.meta`, so the bundle keeps the values of the source file.
    onLoad({ filter: OURS }, ({ path: file }) => {
      const said = { dirname: path.dirname(file), filename: file, url: pathToFileURL(file).href, main: false };
      const text = readFileSync(file, 'utf8');
      const contents = text.replace(/\bimport\.meta\.(\w+)/g, (_, what) => JSON.stringify(said[what]));
      return { contents, loader: 'ts' };
    });
  },
});

async function make({ build }) {
  // Builds in a temporary folder and renames it at the end, so that the bundle is complete or absent.
  const folder = `${FOLDER}-${process.pid}`;
  const common = {
    absWorkingDir: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Modules imported only when needed stay in separate files.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // CommonJS packages call `require`, which an ES module does not have.
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

// If only packages are installed, as in the first stage of an image, there is nothing to bundle yet.
const esbuild = await import('esbuild').catch(() => undefined);
if (esbuild !== undefined && existsSync(path.join(ROOT, PROGRAM))) {
  await make(esbuild).catch(({ message }) => {
    process.stderr.write(`The service will start more slowly because it could not be bundled: ${message}\n`);
  });
}
