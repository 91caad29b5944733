import test from 'ava';
import { Addresses, type FallbackServer, nameForHosts } from '../../src/servers/api/addresses.ts';

const CASTLE = { id: 'castle', hostname: 'castle', networkPort: null };
const TOWER = { id: 'tower', hostname: 'tower-2', networkPort: null };

interface Entry {
  publicHost?: string;
  playersPort?: () => number;
  meant?: () => FallbackServer | undefined;
  homeHost?: () => string | undefined;
}

function addresses({ publicHost = 'localhost', playersPort = () => 25_565, ...entrance }: Entry) {
  return new Addresses(publicHost, playersPort, { meant: () => undefined, homeHost: () => '192.168.1.5', ...entrance });
}

test('the default server is at localhost itself, and at the home address if every name leads to it', (t) => {
  const only = addresses({ meant: () => ({ id: 'castle', byAnyName: true, isAddressed: true }) });
  t.deepEqual([only.of(CASTLE), only.atHome('castle')], ['localhost', '192.168.1.5']);
  const oldest = addresses({
    meant: () => ({ id: 'castle', byAnyName: false, isAddressed: true }),
    playersPort: () => 25_570,
  });
  t.deepEqual([oldest.of(CASTLE), oldest.atHome('castle')], ['localhost:25570', undefined]);
  t.deepEqual([oldest.of(TOWER), oldest.atHome('tower')], ['tower-2.localhost:25570', undefined]);
  const left = addresses({ meant: () => ({ id: 'tower', byAnyName: true, isAddressed: false }) });
  t.deepEqual(
    [left.of(TOWER), left.atHome('tower')],
    ['tower-2.localhost', '192.168.1.5'],
    'the server keeps its address',
  );
});

test('with a public DNS name, each server has its own subdomain', (t) => {
  const named = addresses({
    publicHost: 'play.example',
    meant: () => ({ id: 'castle', byAnyName: true, isAddressed: true }),
  });
  t.deepEqual([named.of(CASTLE), named.atHome('castle')], ['castle.play.example', '192.168.1.5']);
  t.is(addresses({ publicHost: 'play.example' }).atHome('castle'), undefined);
});

test('only a subdomain of localhost may need a line in the hosts file', (t) => {
  t.is(nameForHosts('tower.localhost:25570'), 'tower.localhost');
  t.is(nameForHosts('localhost:25570'), undefined);
  t.is(nameForHosts('castle.play.example'), undefined);
});

test('a private backend has no address for players, only one for the front of its network', (t) => {
  const BACKEND = { ...CASTLE, networkPort: 25_700 };
  const at = (networkHost?: string) =>
    new Addresses('play.example', () => 25_565, { meant: () => undefined }, networkHost);
  t.is(at().of(BACKEND), '');
  t.is(at().forFront(CASTLE), undefined);
  t.deepEqual(
    [undefined, '10.0.0.5', 'fd00::1', '::', '0.0.0.0'].map((host) => at(host).forFront(BACKEND)),
    ['127.0.0.1:25700', '10.0.0.5:25700', '[fd00::1]:25700', 'play.example:25700', 'play.example:25700'],
  );
});
