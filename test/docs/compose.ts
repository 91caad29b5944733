/** In place of `docker compose`, which is not everywhere: whether compose.yaml is whole with the `.env` of this folder. */
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { composed } from '../support/compose.ts';

const variables = Object.entries(parseEnv(readFileSync('.env', 'utf8')));
// To Compose an empty one is as none.
const services = composed(Object.fromEntries(variables.filter(([, value]) => value !== '')) as Record<string, string>);
const [, , , service = 'dormouse'] = process.argv;
if (services[service] === undefined) throw new Error(`compose.yaml has no service ${service}`);
