import test from 'ava';
import { preconditionFailure, quotaExceeded } from '../../src/kernel/status.ts';

test('quotaExceeded names the account in a QuotaFailure detail and keeps the metadata', (t) => {
  const error = quotaExceeded('MAX_SERVERS', 'account:acc_1', 'An account may have 3 servers.', { limit: '3' });
  t.deepEqual([error.code, error.reason], ['RESOURCE_EXHAUSTED', 'MAX_SERVERS']);
  t.deepEqual(error.options, {
    metadata: { limit: '3' },
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ subject: 'account:acc_1', description: 'An account may have 3 servers.' }],
      },
    ],
  });
});

test('preconditionFailure returns a violation with its type, subject and description', (t) => {
  t.deepEqual(preconditionFailure('FUNDS', 'account:acc_1', 'Add money.'), {
    '@type': 'type.googleapis.com/google.rpc.PreconditionFailure',
    violations: [{ type: 'FUNDS', subject: 'account:acc_1', description: 'Add money.' }],
  });
});
