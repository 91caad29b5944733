import type { FirstRun } from './first-run.ts';

/** The welcome printed at every start until the operator has signed in. */
export interface Welcome {
  firstRun: FirstRun;
  /** The file that also has the credentials. */
  file: string;
  httpPort: number;
  playersPort: number;
  /** The pages' base URL for browsers. */
  baseUrl: string;
  /** Players reach a server at `<id>.<publicHost>`, or at `publicHost` itself unless `needsName`. */
  publicHost: string;
  needsName: boolean;
  /** This machine's address in the home network; undefined if there is no such network or it is closed to players. */
  homeAddress: string | undefined;
  /** Whether the service runs in a container, with the reader outside of it. */
  inContainer: boolean;
}

/**
 * Returns the welcome of the first start for a person at the terminal. Other outputs (a journal, container logs, a
 * file) are stored and read by others, so they get the location of the credentials instead.
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
  const fromOutside = inContainer ? `\n  From outside this container: docker exec <its name> cat ${file}` : '';
  return `
  Welcome to Dormouse. ${isTerminal ? shown : `Your e-mail, password and API key are in ${file}.${fromOutside}`}

    Pages      ${baseUrl}/servers, and for you as the operator ${baseUrl}/operator
    Players    ${named('<its id>')}${fromHome}

  Sign in and create a first server there, or through the API:

    curl -H 'x-api-key: ${key}' localhost:${httpPort}/v1/servers -d '{"name":"Lobby","ramMb":512}'

  then join ${named('lobby')} with Minecraft. This message appears at each start until you have signed in.

`;
}
