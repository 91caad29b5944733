import test from 'ava';
import { fileError } from '../../src/jail/errors.ts';
import { isNone } from '../../src/jail/if-there.ts';
import type { StatusError } from '../../src/kernel/status.ts';

function told(code: string): StatusError {
  const error = Object.assign(new Error(code), { code, syscall: 'open' });
  return fileError(error, 'world/level.dat') as StatusError;
}

test('host-side file errors have their own reasons, and a permission error does not count as a missing file', (t) => {
  for (const code of ['EACCES', 'EPERM']) {
    t.like(told(code), { code: 'FAILED_PRECONDITION', reason: 'PATH_NOT_ACCESSIBLE' });
    t.false(isNone(told(code)), 'an inaccessible file does not count as missing');
  }
  t.like(told('EROFS'), { code: 'UNAVAILABLE', reason: 'DISK_READ_ONLY' });
  t.true(isNone(told('ENOENT')) && isNone(told('EISDIR')));
});
