import test from 'ava';
import { array, assert, constantFrom, oneof, property, string } from '../support/property.ts';
import { type TextComponent, toComponent } from '../../proxy/text.ts';
import { componentSpans } from '../../src/game/motd/component.ts';
import { COLORS, colorValue, nearestCode } from '../../src/game/motd/colors.ts';
import { checkMotd, motdCodes, motdText, parseMotd } from '../../src/game/motd/motd.ts';
import { type MotdSpan, sameStyle } from '../../src/game/motd/style.ts';
import { motdHtml } from '../../src/game/motd/html.ts';
import { PROPORTIONAL, growth } from '../support/cpu.ts';

const codes = (motd: string): string => motdCodes(parseMotd(motd), { anyColor: true });

/** Random messages: plain text, valid codes and tags, and text that resembles them. */
const motds = array(
  oneof(
    string({ unit: 'binary', maxLength: 6 }),
    constantFrom('§a', '§L', '§r', '§x§f§f§8§8§0§0', '§x§f', '§', '\\<', '\\', '\n', '"', '&', "'", '%RCON_PASSWORD%'),
    constantFrom(
      '<red>',
      '</red>',
      '<#ff8800>',
      '<bold>',
      '<!bold>',
      '</bold>',
      '<b>',
      '<reset>',
      '<newline>',
      '<c:gold>',
    ),
    constantFrom('<gradient:red:#00ff00:blue>', '</gradient>', '<rainbow>', '</rainbow>', "<hover:show_text:'<red>x'>"),
    constantFrom(
      '<script>',
      '</font>',
      '<font color="x">',
      '<constructor>',
      '<__proto__>',
      '<3',
      '<color:nope>',
      '</bdi>',
    ),
  ),
  { maxLength: 30 },
).map((parts) => parts.join('').toWellFormed().slice(0, 1_000));

test('a description copied from a server.properties has its escapes decoded', (t) => {
  const spans = parseMotd(String.raw`\u00a7aHello\n\u00A7bW\u00f6rld`);
  t.is(motdText(spans), 'Hello\nWörld');
  t.is(checkMotd(String.raw`\u00a7aHello\nWorld`), undefined);
});

test('a description can mix plain text, § codes and MiniMessage', (t) => {
  const reads = (motd: string, ...spans: MotdSpan[]) => t.deepEqual(parseMotd(motd), spans, motd);
  reads('A Minecraft Server', { text: 'A Minecraft Server' });
  reads('I <3 <You>', { text: 'I <3 <You>' });
  reads(
    '§aHi §lthere§cred',
    { color: '#55ff55', text: 'Hi ' },
    { color: '#55ff55', bold: true, text: 'there' },
    { color: '#ff5555', text: 'red' },
  );
  reads(
    '<bold><gold>A<!bold>B</gold>C',
    { bold: true, color: '#ffaa00', text: 'A' },
    { color: '#ffaa00', text: 'B' },
    { bold: true, text: 'C' },
  );
  reads(
    '<gradient:#ff0000:#0000ff>abc</gradient>d',
    { color: '#ff0000', text: 'a' },
    { color: '#800080', text: 'b' },
    { color: '#0000ff', text: 'c' },
    { text: 'd' },
  );
  reads(
    '<gradient:red:blue>a<white>b</white>c§ld§ae',
    { color: '#ff5555', text: 'a' },
    { color: '#ffffff', text: 'b' },
    { color: '#8e55c6', text: 'c' },
    { bold: true, color: '#5555ff', text: 'd' },
    { color: '#55ff55', text: 'e' },
  );
  reads('<#FF8800>a<reset>b<br>c', { color: '#ff8800', text: 'a' }, { text: 'b\nc' });
  reads("<hover:show_text:'<red>x'>A</hover><click:open_url:'https://e'>B", { text: 'AB' });
  reads('\\<red>no, \\backslash', { text: '<red>no, \\backslash' });
  reads('<grey>a</grey><rainbow>r</rainbow>', { color: '#aaaaaa', text: 'a' }, { color: '#ff0000', text: 'r' });
  reads('</red>§z§', { text: '</red>' });
});

test('an invalid or too long description is refused with a reason', (t) => {
  t.is(checkMotd(''), undefined);
  t.is(checkMotd('<gradient:red:blue>' + 'x'.repeat(128) + '</gradient>\n' + 'y'.repeat(128)), undefined);
  t.regex(checkMotd('x'.repeat(129)) ?? '', /128 characters a line/);
  t.regex(checkMotd('a\nb\nc') ?? '', /2 lines/);
  t.regex(checkMotd('a<br>b<br>c') ?? '', /2 lines/);
  t.regex(checkMotd('a\rb') ?? '', /control/);
  t.regex(checkMotd('<red>'.repeat(300)) ?? '', /1024/);
});

test('§ codes use the nearest of sixteen colours, or the exact colour if any colour is supported', (t) => {
  const spans = parseMotd('<#ff8800>Hi <red><b>you</b></red><reset> there');
  t.is(motdCodes(spans, { anyColor: false }), '§6Hi §c§lyou§r there');
  t.is(motdCodes(spans, { anyColor: true }), '§6§x§f§f§8§8§0§0Hi §c§lyou§r there');
  for (const [code, [name, value]] of Object.entries(COLORS)) {
    t.is(nearestCode(value), code);
    t.is(colorValue(name), value);
  }
});

test('property: the proxy decodes § codes to the original description', (t) => {
  assert(
    property(motds, (motd) => {
      const spans = parseMotd(motd);
      const shown = flat(toComponent(motdCodes(spans, { anyColor: true }), 767));
      // The proxy limits the number of parts, so that they fit into a status.
      const expected = merged(spans).slice(0, 250);
      t.deepEqual(merged(shown).slice(0, 250), expected);
      // Older clients receive no codes that they do not know.
      const old = toComponent(motdCodes(spans, { anyColor: true }), 340).text;
      t.notRegex(old, /§x/i);
      t.is(old.replaceAll(/§./gu, ''), motdText(spans));
    }),
    { numRuns: 500 },
  );
});

test('property: encoding a description as § codes is idempotent', (t) => {
  const words = string({ unit: 'grapheme-ascii', maxLength: 8 }).map((text) => text.replaceAll(/[<\\§]/g, ''));
  assert(
    property(array(oneof(words, constantFrom('§a', '§l', '§r', '<#123456>', '<b>', '</b>', '<rainbow>'))), (parts) => {
      const once = codes(parts.join(''));
      if (once.length <= 1_000) t.is(codes(once), once);
    }),
  );
});

test('property: a description cannot inject HTML', (t) => {
  assert(
    property(motds, (motd) => {
      const html = motdHtml(motd).toString();
      const tags = html.match(/<[^>]*>/g) ?? [];
      for (const tag of tags) {
        t.regex(tag, /^(?:<\/?bdi>|<br \/>|<font color="#[0-9a-f]{6}">|<\/font>|<span class="[a-z ]+">|<\/span>)$/);
      }
      t.notRegex(html.replaceAll(/<[^>]*>/g, ''), /[<>"']/);
    }),
    { numRuns: 500 },
  );
});

test('hostile descriptions are parsed in linear time', (t) => {
  for (const part of ["<a:'':'", '<hover:', '<', '§x', '<gradient:red', "<c:'", '</', '<b>'] as const)
    t.true(growth((times) => parseMotd(part.repeat(times)), 1_000) < PROPORTIONAL, part);
});

function flat({ text, extra, ...style }: TextComponent): MotdSpan[] {
  const { color, ...formats } = style;
  const value = color === undefined ? undefined : colorValue(color);
  const own = text === '' ? [] : [{ ...formats, ...(value !== undefined && { color: value }), text }];
  return [...own, ...(extra ?? []).flatMap(flat)];
}

function merged(spans: readonly MotdSpan[]): MotdSpan[] {
  const result: MotdSpan[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last && sameStyle(last, span)) last.text += span.text;
    else result.push({ ...span });
  }
  return result;
}

test('a component of a game is drawn as clients do: inherited styles, lists, codes and translated texts', (t) => {
  t.deepEqual(
    componentSpans({ text: 'A ', color: 'gold', extra: [{ text: 'b', bold: true }, ' c', { color: 'red' }] }),
    [
      { text: 'A ', color: '#ffaa00' },
      { text: 'b', color: '#ffaa00', bold: true },
      { text: ' c', color: '#ffaa00' },
    ],
  );
  t.deepEqual(componentSpans(['x', { text: 'y', color: '#0080ff' }, { translate: 'menu.quit', bold: true }]), [
    { text: 'x' },
    { text: 'y', color: '#0080ff' },
    { text: 'menu.quit', bold: true },
  ]);
  t.deepEqual(componentSpans({ text: '§lHi §cthere§r!', italic: true, extra: [{ text: '?', italic: false }] }), [
    { text: 'Hi ', italic: true, bold: true },
    { text: 'there', color: '#ff5555' },
    { text: '!', italic: true },
    { text: '?' },
  ]);
});

test('a component of any shape is drawn without errors, within its limits', (t) => {
  const deep = Array.from({ length: 1_000 }).reduce<unknown>((inner) => ({ text: 'a', extra: [inner] }), 'end');
  t.true(componentSpans(deep).length <= 20);
  t.true(componentSpans(Array.from({ length: 5_000 }, () => 'a')).length <= 260);
  for (const odd of [
    null,
    7,
    true,
    [],
    [null],
    [[[]]],
    { text: {} },
    { extra: 'x' },
    { text: 1, color: 7, bold: 'yes' },
  ])
    t.deepEqual(componentSpans(odd), [], JSON.stringify(odd));
  assert(
    property(motds, (text) => {
      const spans = componentSpans(toComponent(codes(text), 770) satisfies TextComponent);
      t.is(motdText(spans), motdText(parseMotd(text)));
    }),
  );
});
