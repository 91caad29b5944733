import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Blocks } from './blocks.ts';
import { writeAtomic } from './files.ts';
import { type Level, decodeLevelTimes, encodeLevel } from './level-file.ts';
import type { Log } from './log.ts';
import { type UnknownBlock, decodeWorld, encodeWorld } from './world-file.ts';
import type { World } from './world.ts';

const AFTER_CHANGE_MS = 500;
const AUTOSAVE_MS = 5 * 60_000;

/** The part of `level.dat` that does not change while the server runs. */
export type LevelFacts = Omit<Level, 'ageTicks' | 'dayTicks'>;

/**
 * One world on disk: `level.dat`, and our own `dormouse-blocks.json.gz` with the blocks that players changed. Saves
 * half a second after a change and every five minutes, unless automatic saving is off.
 */
export class Storage {
  automatic = true;
  ageTicks = 0;
  dayTicks = 1_000;
  readonly directory: string;
  readonly #world: World;
  readonly #blocks: Blocks;
  readonly #facts: LevelFacts;
  readonly #log: Log;
  readonly #autosave: NodeJS.Timeout;
  #unknown: UnknownBlock[] = [];
  #changed = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Reads the world from `directory` into `world`. Throws if a file cannot be read, because it must not be overwritten.
   */
  constructor(directory: string, world: World, blocks: Blocks, facts: LevelFacts, log: Log) {
    this.directory = directory;
    this.#world = world;
    this.#blocks = blocks;
    this.#facts = facts;
    this.#log = log;
    mkdirSync(join(directory, 'playerdata'), { recursive: true });
    mkdirSync(join(directory, 'region'), { recursive: true });
    this.#read('level.dat', (content) => Object.assign(this, decodeLevelTimes(content)));
    this.#read('dormouse-blocks.json.gz', (content) => {
      this.#unknown = decodeWorld(content, world, blocks);
    });
    if (this.#unknown.length > 0)
      log.warn(`${this.#unknown.length} blocks are unknown to this version and stay hidden`);
    this.#autosave = setInterval(() => {
      if (this.automatic) this.#saveOrComplain();
    }, AUTOSAVE_MS);
  }

  /** Marks the world as changed, so that it is saved soon. */
  noteChange(): void {
    this.#changed = true;
    if (!this.automatic || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.automatic && this.#changed) this.#saveOrComplain();
    }, AFTER_CHANGE_MS);
  }

  /** Saves the world now. Throws the file system's error. */
  save(): void {
    this.#changed = false;
    try {
      writeAtomic(this.#path('dormouse-blocks.json.gz'), encodeWorld(this.#world, this.#blocks, this.#unknown));
      const { ageTicks, dayTicks } = this;
      const level = this.#path('level.dat');
      if (existsSync(level)) copyFileSync(level, this.#path('level.dat_old'));
      writeAtomic(level, encodeLevel({ ...this.#facts, ageTicks, dayTicks }, Date.now()));
    } catch (error) {
      this.#changed = true;
      throw error;
    }
  }

  /** Turns automatic saving on again. Unsaved changes are saved soon. */
  resume(): void {
    this.automatic = true;
    if (this.#changed) this.noteChange();
  }

  close(): void {
    clearInterval(this.#autosave);
    clearTimeout(this.#timer);
  }

  #saveOrComplain(): void {
    try {
      this.save();
    } catch (error) {
      this.#log.error(`Failed to save level ${this.#facts.name}: ${String(error)}`);
    }
  }

  #read(name: string, take: (content: Buffer) => void): void {
    const path = this.#path(name);
    if (!existsSync(path)) return;
    try {
      take(readFileSync(path));
    } catch (error) {
      throw new Error(`Failed to load ${path}: ${String(error)}`, { cause: error });
    }
  }

  #path(name: string): string {
    return join(this.directory, name);
  }
}

/** Returns the directory of a level; undefined if the name leads out of `root`. */
export function levelDirectory(root: string, name: string): string | undefined {
  const directory = resolve(root, name);
  const inside = relative(root, directory);
  if (name.includes('\0') || inside === '' || inside.startsWith('..')) return undefined;
  return directory;
}
