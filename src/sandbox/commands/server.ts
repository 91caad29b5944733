import { type Call, type Command, CommandError, rest, word } from './command.ts';

/** Commands for the server itself: players, pace and stop. */
export const SERVER_COMMANDS: Command[] = [
  { name: 'list', usage: 'list [uuids]', forAll: true, silent: true, run: list },
  { name: 'say', usage: 'say <message>', silent: true, run: say },
  { name: 'tps', usage: 'tps', forAll: true, silent: true, run: tps },
  { name: 'mspt', usage: 'mspt', silent: true, run: mspt },
  { name: 'tick', usage: 'tick query', silent: true, run: tick },
  { name: 'stop', usage: 'stop', run: stop },
];

function list({ game, words }: Call): string {
  const names = [...game.players.values()].map(({ name, uuid }) => (words[0] === 'uuids' ? `${name} (${uuid})` : name));
  return `There are ${names.length} of a max of ${game.maxPlayers} players online: ${names.join(', ')}`;
}

function say(call: Call): string {
  const { game, source } = call;
  word(call, 0);
  const line = `[${source.name}] ${rest(call, 0, '')}`;
  game.log.info(line);
  game.broadcast(line);
  return '';
}

/** Returns the reply in Paper's format. */
function tps({ game }: Call): string {
  const rates = [60, 300, 900].map((seconds) => `§a${game.ticks.rate(seconds).toFixed(1)}`);
  return `§6TPS from last 1m, 5m, 15m: ${rates.join(', ')}`;
}

/** Returns the reply in Paper's format. */
function mspt({ game }: Call): string {
  const times = [5, 10, 60].map((seconds) => {
    const { average, min, max } = game.ticks.times(seconds);
    return `§a${average.toFixed(1)}§7/§a${min.toFixed(1)}§7/§a${max.toFixed(1)}`;
  });
  const head = '§6Server tick times §e(§7avg§e/§7min§e/§7max§e)§6 from last 5s§7,§6 10s§7,§6 1m§e:';
  return `${head}\n§6◴ ${times.join('§7, ')}`;
}

/** Returns the reply in the vanilla format over RCON, which joins most lines without line ends. */
function tick(call: Call): string {
  if (word(call, 0) !== 'query') throw new CommandError('Only "tick query" is supported here');
  const { ticks } = call.game;
  const percentiles = [50, 95, 99].map((percent) => `P${percent}: ${ticks.percentile(percent).toFixed(1)}ms`);
  return [
    'The game is running normally',
    'Target tick rate: 20.0 per second.\n',
    `Average time per tick: ${ticks.times(5).average.toFixed(1)}ms (Target: 50.0ms)`,
    `Percentiles: ${percentiles.join(' ')}. Sample: ${ticks.sampleSize}`,
  ].join('');
}

function stop({ game }: Call): string {
  // Stops after the reply has been sent.
  setTimeout(() => game.stop(), 20);
  return 'Stopping the server';
}
