/** What the machine has for games. */
export interface Machine {
  cores: number;
  ramMb: number;
  /** Of the file system that holds the servers; both 0 where it cannot be asked. */
  diskFreeMb: number;
  diskTotalMb: number;
}

/** Reads what the machine has; never rejects. */
export type MachineProbe = () => Promise<Machine>;
