import { SANDBOX } from './container.ts';

/** Where Mojang's End User Licence Agreement for Minecraft is read. It has no numbered versions: who agrees to it, does on a day. */
export const EULA_URL = 'https://aka.ms/MinecraftEULA';

/** Whether this software is Mojang's or made of it, so that somebody must have agreed to the EULA before it runs. */
export function needsEula(type: string): boolean {
  return type !== SANDBOX;
}
