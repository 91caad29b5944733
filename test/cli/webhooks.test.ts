import test from 'ava';
import { commandsAt } from './in-process.ts';

test('the webhooks commands create, list, change, test, resend, rotate and delete a webhook', async (t) => {
  const { says, refuses, create, store } = await commandsAt(t);
  await create('castle');
  const url = 'https://discord.com/api/webhooks/1/s3cr3t';
  await says(['webhooks'], /^No webhooks yet\. .*dormouse webhooks add <url> <event\.\.\.>\n$/);
  await refuses(['webhooks', 'add', url, 'player'], /An event must be one of .*players/, 2);
  await refuses(['webhooks', 'add', 'http://nowhere', 'money'], /https/);
  await says(
    ['webhooks', 'add', url, 'started', 'money,disk', '--server', 'castle'],
    /^Created the webhook\.\nSecret: whsec_\S+\n/,
  );
  await says(
    ['webhooks', 'list'],
    /^NO +HOST +SERVER +FORMAT +STATE +EVENTS\n1 +discord\.com +castle +discord +on +started, money, disk\n$/,
  );
  await refuses(['webhooks', 'test', '2'], /There is no webhook 2\. See: .*dormouse webhooks list/);
  await says(['webhooks', 'deliveries', '1'], /^No messages yet\.\n$/);
  await says(['webhooks', 'test', '1'], /queued/);
  await says(['webhooks', 'deliveries', '1'], /^WHEN +EVENT +SERVER +STATE +ID\n.* test +castle +waiting +dlv_\w+\n$/);
  await store.write((tx) =>
    tx.run(`UPDATE "webhook_messages" SET "id" = 'dlv_1', "state" = 'failed', "status" = $1`, [500]),
  );
  await says(['webhooks', 'resend', '1', 'dlv_1'], /queued again/);
  await refuses(['webhooks', 'resend', '1', 'dlv_1'], /still waiting/);
  await says(['webhooks', 'events', '1', 'crashed'], /^Events: crashed\.\n$/);
  await says(['webhooks', 'off', '1'], /^The webhook is off\.\n$/);
  await refuses(['webhooks', 'test', '1'], /Switch it on/);
  await says(['webhooks', 'on', '1'], /^The webhook is on\.\n$/);
  await says(['webhooks', 'rotate', '1'], /^Secret: whsec_/);
  await says(['webhooks', 'delete', '1'], /^Deleted the webhook\.\n$/);
});
