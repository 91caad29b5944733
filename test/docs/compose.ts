/** Replaces `docker compose` on machines without it. Checks compose.yaml with the `.env` of this folder. */
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { composed } from '../support/compose.ts';

const variables = Object.entries(parseEnv(readFileSync('.env', 'utf8')));
// Compose treats an empty variable as unset.
const services = composed(Object.fromEntries(variables.filter(([, value]) => value !== '')) as Record<string, string>);
const [, , , service = 'dormouse'] = process.argv;
if (services[service] === undefined) throw new Error(`compose.yaml has no service ${service}`);
