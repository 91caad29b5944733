import test from 'ava';
import { isPublicAddress } from '../../src/kernel/ip.ts';
import * as fc from '../support/property.ts';
import { checkWebhookUrl } from '../../src/servers/api/fields.ts';

const bad = test.macro<[string, RegExp]>({
  exec: (t, url, said) => t.regex(checkWebhookUrl(url) ?? '', said),
  title: (_, url) => `a webhook URL is refused: ${url.slice(0, 60)}`,
});

test('http', bad, 'http://169.254.169.254/', /https/);
test(bad, 'https://169.254.169.254/latest/meta-data', /public address/);
test(bad, 'https://[::ffff:127.0.0.1]/', /public address/);
test(bad, 'https://user:pw@example.com/', /user name/);
test(bad, 'https://:pw@example.com/', /password/);
test(bad, 'https://example.com:8443/', /443/);
test(bad, 'https://2130706433/', /public address/);
test(bad, 'https://0177.0.0.1/', /public address/);
test(bad, 'https://0x7f.1/', /public address/);
test(bad, 'https://127.1/', /public address/);
test(bad, 'https://①②⑦.⓪.⓪.①/', /public address/);
test(bad, 'https://127。0。0。1/', /public address/);
test(bad, 'https://localhost/', /host name/);
test(bad, 'https://localhost./', /host name/);
test(bad, 'https://a.localhost/', /host name/);
test(bad, 'https://metadata.google.internal./', /host name/);
test(bad, 'ftp://example.com/', /https/);
test(bad, 'file:///etc/passwd', /https/);
test(bad, 'javascript:alert(1)', /https/);
test(bad, 'discord.com/api/webhooks/1', /not a URL/);
test(bad, '', /not a URL/);
test(bad, `https://example.com/${'a'.repeat(2_048)}`, /2048 characters/);

test('webhook URLs of chat platforms and other public hosts are accepted', (t) => {
  t.is(checkWebhookUrl('https://discord.com/api/webhooks/1/abc-DEF_9'), undefined);
  t.is(checkWebhookUrl('https://hooks.slack.com/services/T0/B0/xyz'), undefined);
  t.is(checkWebhookUrl('https://example.com:443/hook?key=1'), undefined);
  t.is(checkWebhookUrl('https://[2606:4700::1111]/'), undefined);
  t.is(checkWebhookUrl('https://1.1.1.1/'), undefined);
});

test('isPublicAddress accepts only addresses of the public internet', (t) => {
  const ours =
    `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
    192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1
    ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: fc00::1 fd00::1
    fe80::1 fec0::1 ff02::1 4000::1`.split(/\s+/);
  t.deepEqual(
    ours.filter((address) => isPublicAddress(address)),
    [],
  );
  const open = '1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.128.0.1 2606:4700::1111 2a00:1450::1'.split(' ');
  t.deepEqual(
    open.filter((address) => !isPublicAddress(address)),
    [],
  );
  t.false(isPublicAddress('example.com'));
  t.false(isPublicAddress('fe80::1%eth0'));
});

test('the check of a webhook URL never throws', (t) => {
  const near = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc.ipV6().map((ip) => `https://[${ip}]/`),
  );
  fc.assert(fc.property(near, (text) => ['string', 'undefined'].includes(typeof checkWebhookUrl(text))));
  t.pass();
});
