/** The sets of JVM options to choose from: Java's defaults, Aikar's flags, and the Z garbage collector. */
export const JVM_PRESETS = ['default', 'aikar', 'zgc'] as const;
export type JvmPreset = (typeof JVM_PRESETS)[number];

/** An owner's choice of JVM options. */
export interface JvmChoice {
  preset: JvmPreset;
  /** Further options, separated by spaces, as `checkJvmOptions` accepts them; '' without any. */
  options: string;
}

export const MOST_JVM_CHARS = 1_024;

/**
 * Aikar's flags (https://docs.papermc.io/paper/aikars-flags) without AlwaysPreTouch, which would claim the memory at
 * each wake. The options that unlock others come first, because Java requires this order.
 */
const AIKAR = [
  '-XX:+UnlockExperimentalVMOptions',
  '-XX:+UseG1GC',
  '-XX:+ParallelRefProcEnabled',
  '-XX:MaxGCPauseMillis=200',
  '-XX:+DisableExplicitGC',
  '-XX:G1NewSizePercent=30',
  '-XX:G1MaxNewSizePercent=40',
  '-XX:G1HeapRegionSize=8M',
  '-XX:G1ReservePercent=20',
  '-XX:G1HeapWastePercent=5',
  '-XX:G1MixedGCCountTarget=4',
  '-XX:InitiatingHeapOccupancyPercent=15',
  '-XX:G1MixedGCLiveThresholdPercent=90',
  '-XX:G1RSetUpdatingPauseTimePercent=5',
  '-XX:SurvivorRatio=32',
  '-XX:+PerfDisableSharedMem',
  '-XX:MaxTenuringThreshold=1',
  '-Dusing.aikars.flags=https://mcflags.emc.gs',
  '-Daikars.new.flags=true',
];

/** The first Java with ZGC outside its trial, and the releases in which generations must be switched on (JEP 439, 474). */
const ZGC_SINCE = 15;
const ZGC_WITHOUT_GENERATIONS = new Set([21, 22]);

/** Returns a preset's options for a version of Java. A Java without the collector, or an unknown one, gets its default. */
export function presetFlags(preset: JvmPreset, java = 0): string[] {
  if (preset === 'aikar') return [...AIKAR];
  if (preset !== 'zgc' || java < ZGC_SINCE) return [];
  return ['-XX:+UseZGC', ...(ZGC_WITHOUT_GENERATIONS.has(java) ? ['-XX:+ZGenerational'] : [])];
}

/** Returns an owner's further options, one per element. */
export function ownFlags(options: string): string[] {
  return options.split(' ').filter((option) => option !== '');
}

/** The forms of options that owners may set. The value of none contains a space, a quote, or another shell character. */
const SWITCH = /^-XX:[+-](\w{1,100})$/;
const VALUE = /^-XX:(\w{1,100})=([\w.+:,-]{1,100})$/;
const PROPERTY = /^-D([A-Za-z][\w.-]{0,100})(?:=[\w.+:,@-]{0,200})?$/;
const PLAIN = [
  // Without a second part, which could name a file.
  /^-Xlog:[\w.+,=-]{1,100}$/,
  // Each thread has a stack outside the heap.
  /^-Xss(?:[1-9]\d{0,3}[kK]|[1-4][mM])$/,
  /^-Xmn[1-9]\d{0,4}[mM]$/,
  /^-X(?:int|comp|mixed|batch|noclassgc)$/,
  /^-(?:ea|da|esa|dsa|server)$/,
  /^--(?:add-opens|add-exports|add-reads|enable-native-access)=[\w./,=-]{1,200}$/,
  /^--add-modules=[\w.,]{1,200}$/,
  /^--enable-preview$/,
];

/** Groups of `-XX` options that owners may not set, with the reason. */
const DENIED: readonly (readonly [RegExp, string])[] = [
  [
    /RAM|^(?:Max|Min|Initial)Heap(?:Size|Delta)|DirectMemory|CodeCache|ThreadStackSize|LargePage|HugeTLB|^AllocateHeapAt$|CompressedClassSpaceSize/,
    'sets memory, which the RAM of the server determines',
  ],
  [/OnError|OnOutOfMemoryError|^AbortVM|^ShowMessageBox|Signal/, 'changes how Java ends, which Dormouse needs to know'],
  [/^Flags$|^VMOptionsFile$|UnrecognizedVMOptions|Command/, 'reads other options'],
  [/(?<!Pro)File|Path|Dir|Dump|FlightRecord|^Log|^PerfData/i, 'reads or writes files'],
  [/Attach|Agent|ManagementServer|JVMTI|JVMCI/, 'opens Java to debuggers or agents'],
  [/AOT|CDS|Shared(?!Mem)|^Archive/, 'concerns the start caches of Dormouse'],
];

/** Properties by which Java, its libraries and launchers find code, files, ports and consent. */
const RESERVED = [
  /^(?:java|javax|jdk|sun|com\.sun|com\.mojang|user|os|log4j2?|logback|paperclip|bundler\w*|fabric|loader|quilt|forge)(?:\.|$)/i,
  /path|dir|file(?!\.encoding$)|lib|class|agent|home|native/i,
];
const ALLOWED = new Set([
  'java.awt.headless',
  'java.net.preferIPv4Stack',
  'java.net.preferIPv6Addresses',
  'log4j2.formatMsgNoLookups',
  'sun.net.inetaddr.ttl',
  'user.country',
  'user.language',
  'user.timezone',
]);

/**
 * Returns what is wrong with an owner's JVM options, or undefined. Options may tune Java. They may not name code, files,
 * ports or other options, and may not change memory limits: those belong to Dormouse.
 */
export function checkJvmOptions(options: string): string | undefined {
  if (options.length > MOST_JVM_CHARS) return `must have at most ${MOST_JVM_CHARS} characters`;
  for (const option of ownFlags(options)) {
    const reason = refusalOf(option);
    if (reason !== undefined) return `must not contain ${JSON.stringify(option.slice(0, 100))}: it ${reason}`;
  }
  return undefined;
}

function refusalOf(option: string): string | undefined {
  const [, name] = SWITCH.exec(option) ?? VALUE.exec(option) ?? [];
  if (name !== undefined) return DENIED.find(([pattern]) => pattern.test(name))?.[1];
  const [, property] = PROPERTY.exec(option) ?? [];
  if (property !== undefined) {
    const isReserved = RESERVED.some((pattern) => pattern.test(property)) && !ALLOWED.has(property);
    return isReserved ? 'is a property that owners may not set' : undefined;
  }
  if (/^-Xm[sx]/.test(option)) return 'sets memory, which the RAM of the server determines';
  return PLAIN.some((form) => form.test(option)) ? undefined : 'is not an option that owners may set';
}
