import { readFileSync } from 'node:fs';

const MOST_BYTES = 65_536;

/** The variable that names the file in which a secret stands, in place of the secret itself. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/**
 * Secrets that stand in files of their own, as Docker and systemd hand them out: `NAME_FILE=/run/secrets/name`. Gives the texts
 * with each under its own name, without the end of line after it. Throws an Error whose message is one sentence without a secret.
 */
export function withSecretFiles(texts: NodeJS.Dict<string>, secrets: readonly string[]): NodeJS.Dict<string> {
  const read: NodeJS.Dict<string> = {};
  for (const name of secrets) {
    const file = texts[fileVariable(name)]?.trim();
    if (!file) continue;
    if (texts[name]?.trim()) throw new Error(`${name} and ${fileVariable(name)} are both set: leave one of them out.`);
    read[name] = contentOf(file, fileVariable(name));
  }
  return { ...texts, ...read };
}

function contentOf(file: string, variable: string): string {
  let content: string;
  try {
    content = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`${variable} names ${file}, which cannot be read (${code}).`, { cause: error });
  }
  if (content === '') throw new Error(`${variable} names ${file}, which is empty.`);
  if (content.length > MOST_BYTES) throw new Error(`${variable} names ${file}, which is too large for a secret.`);
  return content;
}
