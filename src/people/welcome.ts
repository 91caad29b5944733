import type { FirstRun } from './first-run.ts';

/** The welcome of every start until the operator has signed in. */
export interface Welcome {
  firstRun: FirstRun;
  /** The file that has the credentials as well. */
  file: string;
  httpPort: number;
  playersPort: number;
  /** The pages' base URL for browsers. */
  baseUrl: string;
  /** Players reach a server as `<id>.<publicHost>`, or where `needsName` is not set, as `publicHost` itself. */
  publicHost: string;
  needsName: boolean;
  /** This machine in its own network; undefined where it is in none, or players are not let in from there. */
  homeAddress: string | undefined;
  /** The reader is outside this container. */
  inContainer: boolean;
}

/**
 * The welcome at the first start, for the person at the terminal. Other outputs (a journal, the logs of a container, a
 * file) are kept and read by others: they get the place of the credentials, but not the credentials.
 */
export function welcomeText(
  { firstRun, file, httpPort, playersPort, baseUrl, publicHost, needsName, homeAddress, inContainer }: Welcome,
  isTerminal: boolean,
): string {
  const { apiKey, email, password } = firstRun;
  const shown = `Your account, also in ${file}:

    e-mail    ${email}
    password  ${password}
    API key   ${apiKey}`;
  const key = isTerminal ? apiKey : '<the apiKey in that file>';
  const port = playersPort === 25_565 ? '' : `:${playersPort}`;
  const named = (id: string) => `${needsName ? `${id}.` : ''}${publicHost}${port}`;
  const fromHome =
    homeAddress === undefined || needsName ? '' : `\n    At home    ${homeAddress}${port}, for others in your network`;
  const fromOutside = inContainer ? `\n  From outside of this container: docker exec <its name> cat ${file}` : '';
  return `
  Welcome to Dormouse. ${isTerminal ? shown : `Your e-mail, password and API key are in ${file}.${fromOutside}`}

    Pages      ${baseUrl}/servers, and for you as the operator ${baseUrl}/operator
    Players    ${named('<its id>')}${fromHome}

  Sign in and create a first server there, or by the API:

    curl -H 'x-api-key: ${key}' localhost:${httpPort}/v1/servers -d '{"name":"Lobby","ramMb":512}'

  then join ${named('lobby')} with Minecraft. This is said at each start until you have signed in.

`;
}
