import process from 'node:process';

/**
 * Node's HTTP. Who imports `node:http` as an ES module reads each of its exports once, and one of these is Undici's: it would
 * be loaded at every start, for nothing. Its types may be imported.
 */
export const { IncomingMessage, createServer } = process.getBuiltinModule('node:http');
