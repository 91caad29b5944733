import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Address } from '../../src/kernel/address.ts';

const run = promisify(execFile);
/** The time to wait for an answer. Between two namespaces of one machine, every answer is faster. */
const ANSWER_MS = 1_500;

const PROGRAM = `const [kind, host, port] = process.argv.slice(1);
const say = (word) => { console.log(word); process.exit(0); };
setTimeout(say, ${ANSWER_MS}, 'silence');
if (kind === 'udp') require('dgram').createSocket('udp4').send('word', +port, host, (error) => say(error?.code ?? 'sent'));
else require('net').connect(+port, host).on('connect', () => say('connected')).on('error', ({ code }) => say(code));`;

/**
 * Calls an address from another network namespace, in which `command` runs programs. Returns for TCP `connected`,
 * `silence` or a code such as `ECONNREFUSED`. Returns for UDP `sent` or a code, such as `EPERM` if the system refuses
 * to send the packet.
 */
export async function reaches(
  command: readonly string[],
  { host, port }: Address,
  kind: 'tcp' | 'udp' = 'tcp',
): Promise<string> {
  const [program, ...args] = [...command, process.execPath, '-e', PROGRAM, kind, host, String(port)];
  return (await run(program, args)).stdout.trim();
}
