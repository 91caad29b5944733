import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { commandsAt } from './in-process.ts';

test('the settings, wake and software commands show, change and reset settings, and refuse an unlisted version', async (t) => {
  const { says, refuses, run, ok, create, servers } = await commandsAt(t);
  await create('castle');
  await says(['settings', 'castle'], /^name +.*\nsoftware +sandbox [\d.]+\nmemory +/);
  const words = [
    'difficulty=hard',
    'pvp=false',
    '--name',
    'My Castle',
    '--ram',
    '512M',
    '--idle',
    '20',
    '--motd',
    'Hi',
  ];
  await says(['settings', 'set', 'castle', ...words], /name +My Castle\n[^]*memory +512 MB\n[^]*sleeps after +20 min /);
  await says(['settings', 'set', 'castle', '--idle', '0'], /sleeps after +the service's default\n/);
  const awake = ['--idle', 'never', '--awake-hours', 'Fri-Sun 18-24', '--ignore-players', 'NPC_*'];
  await says(
    ['settings', 'set', 'castle', ...awake],
    /sleeps after +never\nawake hours +Fri-Sun 18-24 UTC\nignored players +NPC_\*\n/,
  );
  await says(['settings', 'set', 'castle', '--tags', 'survival, friends'], /tags +survival, friends\n/);
  await says(['settings', 'set', 'castle', 'pvp=true', '--public', 'on'], /difficulty=hard\n +pvp=true\n$/);
  t.like(await ok('GET', '/v1/servers/castle'), { properties: { difficulty: 'hard', pvp: 'true' }, motd: 'Hi' });
  await refuses(['settings', 'unset', 'castle', 'dificulty'], /Did you mean difficulty\?/, 2);
  await says(
    ['settings', 'set', 'castle', '--show-address', 'on'],
    /public page +\/status\/[\w-]+, with the address\n/,
  );
  await says(['settings', 'set', 'castle', '--public', 'on'], /public page +\/status\/[\w-]+, with the address\n/);
  await says(['settings', 'set', 'castle', '--show-address', 'off'], /public page +\/status\/[\w-]+\n/);
  await refuses(['settings', 'test-webhook', 'castle'], /needs a webhook/);
  await says(['settings', 'unset', 'castle', 'difficulty'], /properties +pvp=true\n$/);
  await refuses(['settings', 'set', 'castle'], /Name a setting to change/, 2);
  await refuses(['settings', 'set', 'castle', 'difficulty=horrid'], /properties/);
  await refuses(['settings', 'keep-awake', 'castle', '30'], /./);

  await says(['wake', 'castle'], /^woken by +anyone .*\nwakes per day +unlimited\n$/);
  await says(
    ['wake', 'set', 'castle', '--mode', 'whitelist', '--max-per-day=9'],
    /whitelist .*\nwakes per day +at most 9/,
  );
  await refuses(['wake', 'set', 'castle', '--mode', 'whitelst'], /Did you mean whitelist\?/, 2);

  const listed = await says(['versions', 'sandbox'], /^(?:[\d.]+\n)+$/);
  await refuses(['versions', 'sandbx'], /Did you mean sandbox\?/, 2);
  const [newest = ''] = listed.split('\n');
  await refuses(
    ['software', 'castle', '--version', '1.99.9', '-y'],
    /sandbox 1\.99\.9 is not listed\..*versions sandbox/,
    2,
  );
  await says(
    ['software', 'castle', '--version', 'latest', '--yes'],
    new RegExp(`castle will run sandbox ${newest} from its next`),
  );
  await says(['back', 'castle', '--yes'], /castle runs sandbox [\d.]+ again from its next start/);
  await servers.patch('castle', { pendingUpdate: null });
  await refuses(['back', 'castle', '--yes'], /castle has no update to go back from/);
  await says(['settings', 'set', 'castle', '--builds', 'latest-when-asleep'], /builds +latest-when-asleep/);
  await refuses(['settings', 'set', 'castle', '--builds', 'daily'], /--builds must be pinned or latest-when-asleep/, 2);
  await refuses(['software', 'castle', '--type', 'papr', '--version', '1.21.8', '-y'], /Did you mean paper\?/);
  await refuses(
    ['create', 'Tower', '--type', 'paper', '--version', '1.21.88'],
    /paper 1\.21\.88 is not listed\..*Did you mean 1\.21\.8/,
    2,
  );
  await says(['create', 'Tower', '--type', 'paper'], /^Created tower: paper \d+\.\d+/);
  await says(['create', 'Hut', '--version', 'latest'], new RegExp(`^Created hut: sandbox ${newest},`));
  await refuses(['create', 'Barn', '--version', `${newest}.9`], /sandbox .* is not listed\..*versions sandbox/, 2);
  await refuses(['start', 'casle'], /no such server\.\n {2}Did you mean castle\?/);
  await refuses(['start', 'zzzzzzzz'], /dormouse servers/);
  await says(['why', 'castle'], /^No failures on castle/);
  await says(['audit', 'castle'], /^WHEN +ACTION +THROUGH +DETAIL/);
  t.is(JSON.parse((await run(['why', 'castle', '--json'])).out).entries.length, 0);
});

test('the wallet and usage commands show the balance, ledger, spend cap, payment page and cost of a server', async (t) => {
  const { says, refuses, create } = await commandsAt(t);
  await create('castle');
  await says(['wallet'], /^balance +[\d.]+ USD\nthis month +0\.00 USD\ncap +none\nnow +no spending\nprice +.* per GB/);
  await says(['wallet', 'cap', '5', '--stop'], /cap +5\.00 USD, then servers go to sleep\n/);
  await refuses(['wallet', 'cap', 'much'], /in US dollars/, 2);
  await says(['wallet', 'cap', '0'], /cap +none\n/);
  await says(['wallet', 'ledger'], /^The ledger is empty/);
  await says(['wallet', 'top-up', '5'], /\n {2}http\S+\n$/);
  await says(['wallet', 'limits'], /^Your servers can have \d+ [GM]B of memory together\.\n$/);
  await says(['usage', 'castle', '--from', '7d'], /^castle was not awake[^]*Total: 0\.00 USD for 0 GB hours\./);
  await refuses(['usage', 'castle', '--from', 'once'], /--from must look like/, 2);
  await says(['audit'], /server\.create +key key_\w+ +castle\b/);
});

test('operator commands manage invitations, accounts, nodes and orphans, and the api command calls any operation', async (t) => {
  const it = await commandsAt(t);
  const { key } = await it.mint([...FULL_SCOPES, 'operator']);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = TRUE WHERE "id" = $1', ['usr_test']));
  await it.create('castle');
  const says = async (words: string[], pattern: RegExp, input = '') => {
    const { code, out, err } = await it.run(words, { key, input });
    t.is(code, 0, `${words.join(' ')}: ${err}`);
    t.regex(out, pattern, words.join(' '));
  };
  await says(['invite', 'steve@example.org'], /can create an account/);
  await says(['invitations'], /^E-MAIL.*\nsteve@example\.org +.* ago +owner@example\.com +.* ago\n$/);
  t.regex(
    (await it.run(['invitations', 'cancel', 'stve@example.org'], { key })).err,
    /Did you mean steve@example\.org\?/,
  );
  await says(['invitations', 'cancel', 'steve@example.org'], /Withdrew the invitation/);
  await says(['invitations'], /^No open invitations/);
  await says(['accounts'], /^ACCOUNT.*\n[^]*acc_test +owner@example\.com/);
  await says(['accounts', 'credit', 'acc_test', '2.50', 'A gift'], /^acc_test now has 2\.50 USD/);
  await says(['wallet', 'ledger'], /credit +2\.50 USD +A gift\n$/);
  await says(['nodes'], /^NODE +STATE.*\n\S+ +available/);
  t.regex((await it.run(['nodes', 'region', 'node-1', 'eu', 'moved'], { key })).err, /set REGION and restart/);
  await says(['capacity'], /^0 servers awake: /);
  await says(['machines'], /castle +server .*asleep/);
  await says(
    ['accounts', 'show', 'acc_test'],
    /^account +acc_test\ne-mail +owner@example\.com, operator\nsecond factor +no\nbalance +2\.50 USD\nlimits +.* in total\n\nSERVER.*\ncastle +asleep .* 0 bytes of unlimited\n/,
  );
  await says(
    ['accounts', 'limit', 'acc_test', '--servers', '3', '--ram', '4096'],
    /can have 3 servers, 4 GB of memory in total/,
  );
  await says(['accounts', 'limit', 'acc_test', '--servers=0'], /unlimited servers, 4 GB/);
  await says(['accounts', 'limit', 'acc_test', '--ram=default'], /unlimited servers, (?!4 GB)/);
  await it.refuses(['accounts', 'limit', 'acc_test'], /--servers or --ram/, 2);
  await it.refuses(['accounts', 'limit', 'acc_test', '--ram=much'], /--ram must be a whole number/, 2);
  await says(['suspend', 'castle', 'abuse report 4711'], /^castle is suspended\./);
  await says(['accounts', 'show', 'acc_test'], /\ncastle +suspended: abuse report 4711 /);
  await says(['stop', 'castle'], /^castle is asleep\. Suspended: abuse report 4711\n$/);
  await says(['servers'], /\ncastle: Suspended: abuse report 4711\n/);
  await says(['unsuspend', 'castle', 'another server'], /^castle can wake again/);
  await says(['quota', 'castle', '20480', 'a large pack'], /can use 20480 MB/);
  await says(['accounts', 'show', 'acc_test'], /castle .* of 20 GB/);
  await says(['quota', 'castle', '0', 'it is gone'], /the installation's quota/);
  await says(['orphans'], /^No orphans/);
  await mkdir(join(it.dataDir, 'servers/old-lobby'));
  await says(['orphans'], /^KIND.*\ndata +old-lobby /);
  await says(['orphans', 'remove', 'data', 'old-lobby', 'left in 2024', '-y'], /Removed the data of old-lobby/);
  await says(['orphans', 'list'], /^No orphans/);
  t.regex((await it.run(['invitations'])).err, /./, 'the key lacks the scope');

  await says(['api', 'GET', '/v1/servers/castle'], /"id": "castle"/);
  await says(['api', 'post', '/v1/servers/castle:setMotd', '{"motd":"Hello"}'], /"motd": "Hello"/);
  await says(['api', 'POST', '/v1/servers/castle:setMotd', '-'], /"motd": "Piped"/, '{"motd":"Piped"}');
  await it.refuses(['api', 'PUT', '/v1/servers'], /GET, POST or DELETE/, 2);
  await it.refuses(['api', 'GET', '//evil.example/../x'], /path must look like/, 2);
  await it.refuses(['api', 'POST', '/v1/servers', '[1]'], /JSON must be an object/, 2);
  await it.refuses(['api', 'GET', '/v1/nothing'], /./);
});
