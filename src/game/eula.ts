import { SANDBOX, isProxy } from './cores.ts';

/**
 * Address of Mojang's End User Licence Agreement for Minecraft. It has no version numbers: an acceptance has a date.
 */
export const EULA_URL = 'https://aka.ms/MinecraftEULA';

/** Whether this software is Mojang's or derived from it, so that the EULA must be accepted before it runs. */
export function needsEula(type: string): boolean {
  return type !== SANDBOX && !isProxy(type);
}
