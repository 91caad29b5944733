import type { Cause, ServerCommand, ServerContext, ServerState } from '../../machines/server.ts';
import type { ServerRow, TransitionRow } from '../store/rows.ts';

/** One server as it is now: what its owner set (`row`) and what its run shows (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** A server's machine laid open (operation InspectMachine). */
export interface MachineView {
  state: ServerState;
  /** When the present state was entered; null before the first transition. */
  since: number | null;
  /** Commands that would be taken now. */
  allowedEvents: string[];
  deadlines: { name: string; at: number }[];
  /** The newest 50, newest first. */
  transitions: TransitionRow[];
  /** The statechart as plain JSON. */
  definition: unknown;
}

/** Every server of the installation, each one an actor. */
export interface Servers {
  /** Stores the server and its first snapshot; with a mod pack it goes to `installing`. ALREADY_EXISTS for a taken id or host name. */
  create(row: ServerRow, cause: Cause): Promise<ServerNow>;
  /** Undefined for unknown servers and for those being deleted. */
  get(id: string): Promise<ServerNow | undefined>;
  listByAccount(accountId: string): Promise<ServerNow[]>;
  /**
   * Gives a command and resolves once it is stored. NOT_FOUND; FAILED_PRECONDITION where the state does not allow it;
   * UNAVAILABLE where it could not be stored (then nothing has happened).
   */
  send(id: string, command: ServerCommand): Promise<ServerNow>;
  inspect(id: string): Promise<MachineView | undefined>;
}
