import type { Profile } from '../../engines/console/profile.ts';

/** Looks up Minecraft accounts. */
export interface Profiles {
  /**
   * Returns the profile of a name; undefined if it is unused. Rejects with StatusError UNAVAILABLE
   * ACCOUNTS_UNAVAILABLE.
   */
  find(name: string): Promise<Profile | undefined>;
}
