import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '../..');

/** The part of a service in `compose.yaml` that an engine needs. */
export interface ComposeService {
  image: string;
  entrypoint?: string[];
  command?: string[];
  network_mode: string;
  user: string;
  environment: Record<string, string | number | null>;
  group_add?: string[];
  volumes?: (string | { source: string; target: string })[];
  tmpfs?: string[];
  cap_drop: string[];
  security_opt: string[];
  read_only: boolean;
  init: boolean;
  cap_add?: string[];
}

/** Returns the services of `compose.yaml` with these variables, as `docker compose` reads them. */
export function composed(variables: Record<string, string>): Record<string, ComposeService> {
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8').replaceAll(
    /\$\{([A-Z_]+)(?::([?-])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, rest = '') => {
      const value = variables[name];
      if (value === undefined && kind === '?') throw new Error(`${name}: ${rest}`);
      return value ?? (kind === '-' ? rest : '');
    },
  );
  return (
    parse(
      text.replaceAll('$$', () => '$'),
      { merge: true },
    ) as { services: Record<string, ComposeService> }
  ).services;
}
