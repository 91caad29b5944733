import { type Answer, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, command } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { wholeInput } from '../input.ts';

const METHODS = ['GET', 'POST', 'DELETE'] as const;
/** The form of the API's paths, with a query. Two dots would lead elsewhere. */
const PATH = /^\/(?!.*\.\.)[\w./:~%-]{1,500}(?:\?[^#\s]{0,2000})?$/;

/** A call of an arbitrary path. */
type AnyCall = (path: string, init: object) => Promise<Answer<object>>;

/** `dormouse api`. */
export const apiCall: Command = command({
  name: 'api',
  summary: 'Call any API operation and print its JSON.',
  args: ['GET|POST|DELETE', 'path', '[json]'],
  details: `With -, reads the JSON from standard input. The service lists its operations at /docs.

Examples: ${DORMOUSE} api GET /v1/servers/castle/metrics
          ${DORMOUSE} api POST /v1/servers/castle:setMotd '{"motd":"Hello"}'`,
  async run({ slow, document, input, signal }, [word = '', path = '', json]) {
    const method = METHODS.find((each) => each === word.toUpperCase());
    if (method === undefined) throw wrongUsage('The method must be GET, POST or DELETE.');
    if (!PATH.test(path)) throw wrongUsage('The path must look like /v1/servers/castle/metrics.');
    const text = json === '-' ? await wholeInput(input, signal) : (json ?? '{}');
    const ask = slow[method] as unknown as AnyCall;
    document(await done(ask(path, method === 'POST' ? { body: parsed(text) } : {})));
  },
});

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error below explains it.
  }
  throw wrongUsage('The JSON must be an object, like {"motd":"Hello"}.');
}
