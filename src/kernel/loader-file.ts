/**
 * In a server's folder: `{ core, version, loader }`, the loader that its mod pack was made for. Hidden from its owner, and part of
 * backups, as it goes with the files.
 */
export const LOADER_FILE = '.dormouse-loader.json';
