import type { FirstRun } from './first-run.ts';

/** What the first start says. */
export interface Welcome {
  firstRun: FirstRun;
  /** The file that has the credentials as well. */
  file: string;
  httpPort: number;
  playersPort: number;
}

/**
 * The words of the first start, for whoever sits at the terminal. Anything but a terminal keeps what it is given, and others
 * read it (a journal, the logs of a container, a file): it is told where the credentials are, and none of them.
 */
export function welcomeText({ firstRun, file, httpPort, playersPort }: Welcome, isTerminal: boolean): string {
  const { apiKey, email, password } = firstRun;
  const shown = `Your account, also in ${file}:

    API key   ${apiKey}
    e-mail    ${email}
    password  ${password}`;
  const key = isTerminal ? apiKey : '<the apiKey in that file>';
  return `
  Welcome to Dormouse. ${isTerminal ? shown : `Your API key, e-mail and password are in ${file}.`}

  API on http://localhost:${httpPort}, players on port ${playersPort}. Create a first server:

    curl -H 'x-api-key: ${key}' localhost:${httpPort}/v1/servers -d '{"name":"Lobby","ramMb":512}'

  then join localhost${playersPort === 25_565 ? '' : `:${playersPort}`} with Minecraft.

`;
}
