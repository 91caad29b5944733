import type { Profile } from '../../engines/console/profile.ts';

/** The accounts of Minecraft. */
export interface Profiles {
  /** Who bears this name; undefined for nobody. Rejects with StatusError UNAVAILABLE ACCOUNTS_UNAVAILABLE. */
  find(name: string): Promise<Profile | undefined>;
}
