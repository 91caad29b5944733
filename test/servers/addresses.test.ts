import test from 'ava';
import { type AddressOptions, createAddresses, nameForHosts } from '../../src/servers/api/addresses.ts';

const CASTLE = { id: 'castle', hostname: 'castle' };
const TOWER = { id: 'tower', hostname: 'tower-2' };

function addresses(options: Partial<AddressOptions>) {
  const homeHost = () => '192.168.1.5';
  return createAddresses({
    publicHost: 'localhost',
    playersPort: () => 25_565,
    meant: () => undefined,
    homeHost,
    ...options,
  });
}

test('the server that needs no name is at localhost itself, and at home where it is the only one', (t) => {
  const only = addresses({ meant: () => ({ id: 'castle', byAnyName: true, isAddressed: true }) });
  t.deepEqual([only.of(CASTLE), only.atHome('castle')], ['localhost', '192.168.1.5']);
  const oldest = addresses({
    meant: () => ({ id: 'castle', byAnyName: false, isAddressed: true }),
    playersPort: () => 25_570,
  });
  t.deepEqual([oldest.of(CASTLE), oldest.atHome('castle')], ['localhost:25570', undefined]);
  t.deepEqual([oldest.of(TOWER), oldest.atHome('tower')], ['tower-2.localhost:25570', undefined]);
  const left = addresses({ meant: () => ({ id: 'tower', byAnyName: true, isAddressed: false }) });
  t.deepEqual([left.of(TOWER), left.atHome('tower')], ['tower-2.localhost', '192.168.1.5'], 'it keeps its address');
});

test('with a name in the DNS each server has its own below it', (t) => {
  const named = addresses({
    publicHost: 'play.example',
    meant: () => ({ id: 'castle', byAnyName: true, isAddressed: true }),
  });
  t.deepEqual([named.of(CASTLE), named.atHome('castle')], ['castle.play.example', '192.168.1.5']);
  t.is(addresses({ publicHost: 'play.example' }).atHome('castle'), undefined);
});

test('which addresses the hosts file may have to know', (t) => {
  t.is(nameForHosts('tower.localhost:25570'), 'tower.localhost');
  t.is(nameForHosts('localhost:25570'), undefined);
  t.is(nameForHosts('castle.play.example'), undefined);
});
