import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { dataFrame } from '../../src/http/sse.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test('frames of long lines do not keep the whole lines in memory', (t) => {
  const before = heapBytes();
  // The first character makes the whole string take two bytes per character in memory.
  const frames = Array.from({ length: 400 }, (_, n) => dataFrame(Buffer.from(`─${n}${'x'.repeat(65_000)}`).toString()));
  const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  t.true(bytes < 400 * 8_300);
  const kept = heapBytes() - before;
  t.true(kept < 5 * bytes, `${kept} bytes of memory for ${bytes} bytes of frames`);
  t.is(frames.length, 400);
});

test('a long line is never cut within a character', (t) => {
  for (const character of ['─', 'é', '😀']) {
    const [, shown = ''] = /^data: (.*)\n\n$/.exec(dataFrame(character.repeat(10_000))) ?? [];
    t.is(shown, character.repeat(Math.floor(8_192 / Buffer.byteLength(character))));
  }
});
