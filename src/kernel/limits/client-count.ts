import { networkOf } from '../ip.ts';
import { createPlaces } from './places.ts';

/** A client that holds a place. */
export interface Guest {
  address: string;
  /**
   * `idle`: may be replaced by any client. `waiting`: may be replaced only by a client whose network holds at least two
   * places fewer. `busy`: is never replaced.
   */
  state(): 'idle' | 'waiting' | 'busy';
  /** Disconnects the client because another one takes its place. The place has already been released. */
  leave(): void;
}

export interface ClientCountOptions {
  /** Most places in total. `mostOfAddress`: most places per address, or per /64 for IPv6. */
  most: number;
  mostOfAddress: number;
  /** Most places per network (/24, or /48 for IPv6). Default: no limit. */
  mostOfNetwork?: number;
  /**
   * Reports whether many clients share an address, such as a reverse proxy's. Shared addresses are not limited.
   * Default: no address is shared.
   */
  isShared?: (address: string) => boolean;
  /** Returns a number from 0 to below 1. Default: `Math.random`. */
  random?: () => number;
}

/** A limited number of places that a single client cannot fill alone. */
export interface ClientCount {
  /**
   * Takes a place and returns a function that releases it; undefined if the address or network has its share, or if no
   * client can make room.
   */
  enter(guest: Guest): (() => void) | undefined;
}

/**
 * The number of random places examined to find one to free. A network holding a tenth of all places is missed once in
 * thirty tries.
 */
const LOOKED_AT = 32;
const ADDRESS = { ipv4: 32, ipv6: 64 };

interface Place {
  guest: Guest;
  index: number;
  network: string;
  free: () => void;
}

/**
 * Limits connected clients. At the limit it makes room by random drop: of a few random clients, it disconnects an idle
 * one, preferably from the network (/24, /48) with the most connections. So a flood displaces itself, and new clients
 * still get a place.
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

  /** Finds a place to free for a new client; undefined without one. `own`: the number of places its network holds. */
  function whoGoes(own: number): Place | undefined {
    let found: Place | undefined;
    let weight = 0;
    for (let n = 0; n < Math.min(LOOKED_AT, places.length * 2); n++) {
      const place = places[Math.floor(random() * places.length)]!;
      const state = place.guest.state();
      const holds = held.taken(place.network);
      if (state === 'busy' || (state === 'waiting' && holds < own + 2)) continue;
      // Prefer idle clients.
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
