import type { FirstRun } from './first-run.ts';

/** What a start says until somebody has signed in. */
export interface Welcome {
  firstRun: FirstRun;
  /** The file that has the credentials as well. */
  file: string;
  httpPort: number;
  playersPort: number;
  /** Where browsers find the pages. */
  baseUrl: string;
  /** Players reach a server as `<id>.<publicHost>`, or where `needsName` is not set, as `publicHost` itself. */
  publicHost: string;
  needsName: boolean;
  /** This machine in its own network; undefined where it is in none, or players are not let in from there. */
  homeAddress: string | undefined;
  /** Whoever reads this is outside of the container that this is. */
  inContainer: boolean;
}

/**
 * The words of the first start, for whoever sits at the terminal. Anything but a terminal keeps what it is given, and others
 * read it (a journal, the logs of a container, a file): it is told where the credentials are, and none of them.
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
