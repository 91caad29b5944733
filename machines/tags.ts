import type { AnyStateMachine, AnyStateNode } from 'xstate';

/**
 * Returns the tags of each named state. A name is itself a tag, and several states of the chart may share it. Throws if
 * such states differ in another tag, or if a state has no name.
 */
export function tagsByState(machine: AnyStateMachine, names: readonly string[]): Map<string, ReadonlySet<string>> {
  const found = new Map<string, readonly string[]>();
  for (const { tags, key } of leavesOf(machine.root)) {
    const name = names.find((each) => tags.includes(each));
    if (name === undefined || String(found.get(name) ?? tags) !== String(tags))
      throw new Error(`state ${key} of ${machine.id} has no name, or other tags than its namesake`);
    found.set(name, tags);
  }
  return new Map([...found].map(([name, tags]) => [name, new Set(tags)]));
}

function leavesOf(node: AnyStateNode): AnyStateNode[] {
  const below = Object.values(node.states);
  return below.length === 0 ? [node] : below.flatMap(leavesOf);
}
