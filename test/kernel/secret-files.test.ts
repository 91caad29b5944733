import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { withSecretFiles } from '../../src/kernel/setting-kinds.ts';

const SECRETS = ['KEY', 'OTHER'];

function tempDir(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'dormouse-secret-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

test('a secret is read from the named file without its trailing newline', (t) => {
  const file = join(tempDir(t), 'key');
  writeFileSync(file, 's3cret\n');
  t.like(withSecretFiles({ KEY_FILE: ` ${file} `, HOST: 'h' }, SECRETS), {
    KEY: 's3cret',
    OTHER: undefined,
    HOST: 'h',
  });
  t.like(withSecretFiles({ KEY: 'plain', KEY_FILE: '', HOST_FILE: file }, SECRETS), { KEY: 'plain', HOST: undefined });
});

test('a missing, empty, oversized or duplicate secret is an error that names the variable, not the secret', (t) => {
  const directory = tempDir(t);
  const file = (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const wrong: Record<string, NodeJS.Dict<string>> = {
    'cannot be read (ENOENT)': { KEY_FILE: join(directory, 'none') },
    'cannot be read (EISDIR)': { KEY_FILE: directory },
    'which is empty': { KEY_FILE: file('empty', ' \n') },
    'too large': { KEY_FILE: file('large', 'x'.repeat(70_000)) },
    'both set': { KEY: 's3cret', KEY_FILE: file('key', 's3cret') },
  };
  for (const [why, texts] of Object.entries(wrong)) {
    const { message } = t.throws(() => withSecretFiles(texts, SECRETS));
    t.true(message.includes(why) && message.includes('KEY_FILE'), message);
    t.false(message.includes('s3cret'));
  }
});
