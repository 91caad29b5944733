/** The names of events as clients, logs and pages show them. The end of an effect has a name of XState's own inside. */

const END_OF_EFFECT = /xstate\.(done|error)\.actor\.(\w+)/g;

/** `BOOT_DONE` or `BOOT_FAILED` for the end of the effect `boot`; any other name stays as it is. */
export function eventName(type: string): string {
  return type.replaceAll(END_OF_EFFECT, (_, how: string, effect: string) => {
    return `${effect.toUpperCase()}_${how === 'done' ? 'DONE' : 'FAILED'}`;
  });
}

/** A machine's statechart as plain JSON, with these names. */
export function statechartOf({ definition }: { definition: unknown }): object {
  return JSON.parse(eventName(JSON.stringify(definition))) as object;
}
