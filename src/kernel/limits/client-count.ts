import { networkOf } from '../ip.ts';
import { createPlaces } from './places.ts';

/** Somebody who holds a place. */
export interface Guest {
  address: string;
  /** `idle`: has nothing in progress and may go for anybody; `waiting`: may go for whose network holds less; `busy`: stays. */
  state(): 'idle' | 'waiting' | 'busy';
  /** Sent away for another. Its place is free at once. */
  leave(): void;
}

export interface ClientCountOptions {
  /** Places in all, and of one address (an IPv6 one: its /64). */
  most: number;
  mostOfAddress: number;
  /** The most of one network (a /24, or a /48 of IPv6). Default: no limit of its own. */
  mostOfNetwork?: number;
  /** Addresses behind which there are many people, such as a reverse proxy's: not limited as one. Default: none. */
  isShared?: (address: string) => boolean;
  /** From 0 up to 1. */
  random?: () => number;
}

/** A limited number of places that a single client cannot fill alone. */
export interface ClientCount {
  /** Takes a place and returns its release; undefined if the address has its share or no client can make room. */
  enter(guest: Guest): (() => void) | undefined;
}

/** So many are looked at to find one who makes room: who holds a tenth of all places is missed once in thirty times. */
const LOOKED_AT = 32;
const ADDRESS = { ipv4: 32, ipv6: 64 };

interface Place {
  guest: Guest;
  index: number;
  network: string;
  free: () => void;
}

/**
 * Counts connected clients. At the limit it makes room by random drop: of a few random clients, it disconnects an idle one,
 * preferably of the network (/24, /48) with the most connections. A flood thus displaces itself, and new clients get in.
 */
export function createClientCount({ isShared, random = Math.random, ...limits }: ClientCountOptions): ClientCount {
  const { most, mostOfAddress, mostOfNetwork = Infinity } = limits;
  const places: Place[] = [];
  const held = createPlaces();

  return {
    enter(guest) {
      const address = networkOf(guest.address, ADDRESS);
      const network = networkOf(guest.address);
      const isFull = held.taken(address) >= mostOfAddress || held.taken(network) >= mostOfNetwork;
      if (isFull && !isShared?.(guest.address)) return undefined;
      if (places.length >= most) {
        const gone = whoGoes(held.taken(network));
        if (!gone) return undefined;
        release(gone);
        gone.guest.leave();
      }
      const free = held.take({ [address]: Infinity, [network]: Infinity }) ?? (() => {});
      const place: Place = { guest, index: places.length, network, free };
      places.push(place);
      return () => release(place);
    },
  };

  /** `own`: how many the newcomer's network holds. */
  function whoGoes(own: number): Place | undefined {
    let found: Place | undefined;
    let weight = 0;
    for (let n = 0; n < Math.min(LOOKED_AT, places.length * 2); n++) {
      const place = places[Math.floor(random() * places.length)]!;
      const state = place.guest.state();
      const holds = held.taken(place.network);
      if (state === 'busy' || (state === 'waiting' && holds < own + 2)) continue;
      // Idle ones first.
      const candidate = state === 'idle' ? most + holds : holds;
      if (candidate > weight) [found, weight] = [place, candidate];
    }
    return found;
  }

  function release(place: Place): void {
    if (places[place.index] !== place) return;
    const last = places.pop()!;
    if (last !== place) {
      places[place.index] = last;
      last.index = place.index;
    }
    place.index = -1;
    place.free();
  }
}
