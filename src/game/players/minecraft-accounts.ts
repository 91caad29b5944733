import type { Profile } from '../../engines/console/profile.ts';

/** The accounts of Minecraft. */
export interface Profiles {
  /**
   * Returns the profile of a name; undefined if it is unused. Rejects with StatusError UNAVAILABLE
   * ACCOUNTS_UNAVAILABLE.
   */
  find(name: string): Promise<Profile | undefined>;
}
