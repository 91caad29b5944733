import { BlockList } from 'node:net';
import test from 'ava';
import {
  addressKey,
  canonical,
  homeAddressOf,
  homeHost,
  isListed,
  isLoopback,
  networkOf,
} from '../../src/kernel/ip.ts';

test('an IP address has one canonical form, however it is written', (t) => {
  for (const [text, form] of [
    ['198.51.100.7', '198.51.100.7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['0:0:0:0:0:FFFF:c633:6407', '198.51.100.7'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::198.51.100.7', '::c633:6407'],
    ['64:ff9b::198.51.100.7', '64:ff9b::c633:6407'],
    ['::', '::'],
    ['010.0.0.1', ''],
    ['1', ''],
    ['example.com', ''],
    ['', ''],
  ] as const) {
    t.is(canonical(text), form, text);
  }
});

test('isLoopback matches only addresses of this machine', (t) => {
  for (const own of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1']) t.true(isLoopback(own), own);
  for (const other of ['192.168.1.7', '10.0.0.1', '203.0.113.7', 'fe80::1', '2001:db8::1', '0.0.0.0', 'localhost', ''])
    t.false(isLoopback(other), other);
});

test('networkOf returns /24 and /48 networks by default, however the address is written', (t) => {
  t.is(networkOf('198.51.100.7'), '198.51.100.0/24');
  t.is(networkOf('::ffff:198.51.100.7'), '198.51.100.0/24');
  t.is(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1::/48');
  t.is(networkOf('2001:DB8:1:ffff::1'), '2001:db8:1::/48');
  t.is(networkOf('fe80::1%eth0'), 'fe80::/48');
  t.is(networkOf('2001:db8:1:2::1', { ipv4: 32, ipv6: 64 }), '2001:db8:1:2::/64');
  t.is(networkOf('198.51.100.7', { ipv4: 32, ipv6: 64 }), '198.51.100.7/32');
  t.is(networkOf(''), '');
});

test('a list of networks matches both IPv4 and IPv6 addresses', (t) => {
  const list = new BlockList();
  list.addSubnet('10.0.0.0', 8);
  list.addSubnet('2001:db8::', 32, 'ipv6');
  t.deepEqual(
    ['10.1.2.3', '11.1.2.3', '2001:db8::1', '2001:db9::1'].map((address) => isListed(list, address)),
    [true, false, true, false],
  );
});

test('addressKey groups IPv6 addresses by /64 and keeps an IPv4 address', (t) => {
  t.is(addressKey('2001:db8::1%eth0'), '2001:db8:0:0::/64');
  t.is(addressKey('198.51.100.7'), '198.51.100.7');
});

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
