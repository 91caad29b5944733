/** Event names as shown by clients, logs and pages. XState's own name for the end of an effect is internal. */

const END_OF_EFFECT = /xstate\.(done|error)\.actor\.(\w+)/g;

/** Returns `BOOT_DONE` or `BOOT_FAILED` for the end of the effect `boot`; other names are unchanged. */
export function eventName(type: string): string {
  return type.replaceAll(END_OF_EFFECT, (_, how: string, effect: string) => {
    return `${effect.toUpperCase()}_${how === 'done' ? 'DONE' : 'FAILED'}`;
  });
}

/** Returns a machine's statechart as plain JSON with these names. */
export function statechartOf({ definition }: { definition: unknown }): object {
  return JSON.parse(eventName(JSON.stringify(definition))) as object;
}
