import { gunzipSync, gzipSync } from 'node:zlib';
import nbt, { type NBT } from 'prismarine-nbt';

/** The content of `level.dat`. Times are in ticks: since the world's creation, and of its day. */
export interface Level {
  name: string;
  ageTicks: number;
  dayTicks: number;
  versionName: string;
  dataVersion: number;
  gameType: number;
  difficulty: number;
  spawnY: number;
}

/** Encodes `level.dat` in the vanilla format: gzipped NBT, version 19133. */
export function encodeLevel(level: Level, savedAt: number): Buffer {
  const data = nbt.comp({
    version: nbt.int(19_133),
    DataVersion: nbt.int(level.dataVersion),
    Version: nbt.comp({
      Id: nbt.int(level.dataVersion),
      Name: nbt.string(level.versionName),
      Series: nbt.string('main'),
      Snapshot: nbt.byte(0),
    }),
    LevelName: nbt.string(level.name),
    generatorName: nbt.string('flat'),
    RandomSeed: nbt.long([0, 0]),
    GameType: nbt.int(level.gameType),
    Difficulty: nbt.byte(level.difficulty),
    hardcore: nbt.byte(0),
    allowCommands: nbt.byte(0),
    initialized: nbt.byte(1),
    SpawnX: nbt.int(0),
    SpawnY: nbt.int(level.spawnY),
    SpawnZ: nbt.int(0),
    Time: nbt.long(long(level.ageTicks)),
    DayTime: nbt.long(long(level.dayTicks)),
    LastPlayed: nbt.long(long(savedAt)),
  });
  return gzipSync(nbt.writeUncompressed({ ...nbt.comp({ Data: data }), name: '' } as unknown as NBT));
}

/** Reads the times in a `level.dat`. Throws if it is invalid. */
export function decodeLevelTimes(content: Buffer): { ageTicks: number; dayTicks: number } {
  const root = nbt.parseUncompressed(gunzipSync(content, { maxOutputLength: 16 * 1024 * 1024 }));
  const data = nbt.simplify(root).Data as { Time?: [number, number]; DayTime?: [number, number] } | undefined;
  if (!data) throw new Error('level.dat has no Data');
  return { ageTicks: whole(data.Time), dayTicks: whole(data.DayTime) };
}

function long(value: number): [number, number] {
  return [Math.floor(value / 2 ** 32) | 0, value | 0];
}

function whole(pair: [number, number] | undefined): number {
  const value = pair ? pair[0] * 2 ** 32 + (pair[1] >>> 0) : 0;
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
