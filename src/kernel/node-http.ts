import process from 'node:process';

/**
 * Node's HTTP module. An ES module import of `node:http` would read all its exports and thereby load Undici needlessly
 * at every start. Type imports are fine.
 */
export const { IncomingMessage, createServer } = process.getBuiltinModule('node:http');
