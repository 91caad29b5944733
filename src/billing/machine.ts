/** The machine's capacity for games. */
export interface Machine {
  cores: number;
  ramMb: number;
  /** For the file system that holds the servers; both 0 if it cannot be read. */
  diskFreeMb: number;
  diskTotalMb: number;
}

/** Measures the machine. Never rejects. */
export type MachineProbe = () => Promise<Machine>;
