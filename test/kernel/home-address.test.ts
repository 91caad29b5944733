import test from 'ava';
import { homeAddressOf, homeHost } from '../../src/kernel/home-address.ts';

test('the home address is a private one of a network card, not of a container network', (t) => {
  const card = (address: string, internal = false) => [{ address, family: 'IPv4' as const, internal }] as never;
  t.is(
    homeAddressOf({ lo: card('127.0.0.1', true), docker0: card('172.17.0.1'), eth0: card('192.168.1.5') }),
    '192.168.1.5',
  );
  t.is(homeAddressOf({ eth0: card('203.0.113.5') }), undefined);
});

test('a service on loopback only or within a container has no known home address', (t) => {
  t.is(homeHost('127.0.0.1', false), undefined);
  t.is(homeHost('0.0.0.0', true), undefined);
  t.is(homeHost('::', false), homeAddressOf());
});
