/** The known Minecraft versions, newest first. */
export interface Catalogue {
  versions(): Promise<{ versions: string[]; latest: string }>;
}
