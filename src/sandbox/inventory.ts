import type { Protocol } from './protocol.ts';

/** A stack of items in a slot. */
export interface Stack {
  id: number;
  count: number;
  /** Before 1.13, the variant, such as the colour of wool; otherwise 0. */
  damage: number;
}

const SLOTS = 46;
const MAX_STACK = 64;
const FIRST_HOTBAR_SLOT = 36;
const HOTBAR_THEN_PACK = [...range(FIRST_HOTBAR_SLOT, 44), ...range(9, 35)];

/** A player's inventory: the slots of the player's own window. 36 to 44 are the hotbar, 45 is the off hand. */
export class Inventory {
  readonly #slots: (Stack | undefined)[] = Array.from({ length: SLOTS });
  #held = 0;

  get(slot: number): Stack | undefined {
    return this.#slots[slot];
  }

  /** Ignores invalid slots. */
  set(slot: number, stack: Stack | undefined): void {
    if (Number.isInteger(slot) && slot >= 0 && slot < SLOTS)
      this.#slots[slot] = stack && stack.count > 0 ? stack : undefined;
  }

  /** Selects a hotbar slot, 0 to 8. Ignores other numbers. */
  hold(hotbarSlot: number): void {
    if (Number.isInteger(hotbarSlot) && hotbarSlot >= 0 && hotbarSlot <= 8) this.#held = hotbarSlot;
  }

  /** Returns the slot of a hand: 0 is the main hand, 1 the off hand. */
  slotOfHand(hand: number): number {
    return hand === 1 ? 45 : FIRST_HOTBAR_SLOT + this.#held;
  }

  /** Adds items where there is room and returns the changed slots. Items without room are lost. */
  give(id: number, damage: number, count: number): number[] {
    const changed: number[] = [];
    let left = count;
    const fits = (slot: number) => this.#slots[slot]?.id === id && this.#slots[slot].damage === damage;
    const order = [...HOTBAR_THEN_PACK.filter(fits), ...HOTBAR_THEN_PACK.filter((slot) => !this.#slots[slot])];
    for (const slot of order) {
      const before = this.#slots[slot]?.count ?? 0;
      const taken = Math.min(left, MAX_STACK - before);
      if (taken <= 0) continue;
      this.#slots[slot] = { id, damage, count: before + taken };
      changed.push(slot);
      left -= taken;
      if (left === 0) break;
    }
    return changed;
  }

  /** Returns all slots in order. */
  all(): readonly (Stack | undefined)[] {
    return this.#slots;
  }
}

/** Encodes a slot for the packets of a version. */
export function encodeSlot(protocol: Protocol, stack: Stack | undefined): object {
  const shape = protocol.slotShape;
  if (shape.includes('"blockId"')) {
    return stack ? { blockId: stack.id, itemCount: stack.count, itemDamage: stack.damage } : { blockId: -1 };
  }
  if (shape.includes('"present"')) {
    return stack ? { present: true, itemId: stack.id, itemCount: stack.count } : { present: false };
  }
  if (!stack) return { itemCount: 0 };
  const noComponents = { addedComponentCount: 0, removedComponentCount: 0, components: [], removeComponents: [] };
  return { itemCount: stack.count, itemId: stack.id, ...noComponents };
}

/** Returns the stack a client put into a slot, without enchantments and names. */
export function decodeSlot(slot: unknown): Stack | undefined {
  const { blockId, itemId, itemCount, itemDamage } = (slot ?? {}) as Record<string, unknown>;
  const id = typeof blockId === 'number' ? blockId : itemId;
  if (typeof id !== 'number' || id < 0 || typeof itemCount !== 'number' || itemCount < 1) return undefined;
  return { id, count: Math.min(itemCount, MAX_STACK), damage: typeof itemDamage === 'number' ? itemDamage : 0 };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
