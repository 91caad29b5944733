/** Which Minecraft versions there are, newest first. */
export interface Catalogue {
  versions(): Promise<{ versions: string[]; latest: string }>;
}
