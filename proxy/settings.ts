/** All time spans of the proxy, in ms. Tests shorten the production values. */
export const DEFAULT_TIMINGS = {
  /** Time from accept to the first byte. */
  firstByteMs: 3_000,
  /** Time from accept to the end of the handshake and the packet after it. */
  openingMs: 5_000,
  /** Time from accept to the end of a status exchange. */
  statusMs: 10_000,
  /** How long to wait for the rest of a fragmented legacy ping. */
  legacyTailMs: 300,
  /** How long a client has to read its kick and leave. */
  farewellMs: 5_000,
  /** How long one side of a pipe may stay silent after the other has ended. */
  lingerMs: 30_000,
  /** How long a side of a pipe may accept no data while data is pending for it. */
  stallMs: 120_000,
  /** Interval at which all deadlines are checked. */
  sweepMs: 1_000,
  /** Interval of beats to a held player. Clients time out after 30 s of silence (1.7: 20 s). */
  beatMs: 10_000,
  /**
   * Delay before the first Set Compression. Some programs that claim 1.8 to 1.12 (bots, proxies) fail on this packet,
   * although the game accepts it. A program that leaves before this time never receives it.
   */
  compressionFirstBeatMs: 20_000,
  /** A held player who does not answer a plugin request within this time counts as gone. */
  answerMs: 20_000,
  /** Minimum duration of a join before it wakes a server, for clients before 1.13, which answer no requests. */
  dwellMs: 3_000,
  /**
   * How long a client before 1.8 is held. Beats cannot keep such a client connected, so the player is asked to come
   * back before the client times out.
   */
  silentHoldMs: 17_000,
  /** Limit of every hold, longer than a start may take. */
  maxHoldMs: 15 * 60_000,
  /** How long the client, and also the session service, may take to answer during verification. */
  verifyMs: 15_000,
  /** How long a verified account may wake servers without another check. */
  verifiedMs: 10 * 60_000,
  /** Interval at which the dialog in the waiting room is updated. */
  dialogMs: 1_000,
  /** How long the waiting room shows why a player cannot join. */
  explainMs: 60_000,
  /** How long a player transferred out of the waiting room may take to come back. */
  returnMs: 60_000,
  dialMs: 3_000,
  /** Delay between two attempts to hand a player over. */
  redialMs: 4_000,
  /** Age below which a game may turn away players that it will soon accept. */
  youngMs: 60_000,
  /** How long to wait for the first packet of a young game. Together with a dial, it must fit between two beats. */
  firstPacketMs: 5_000,
  /** How long to wait for the status of a running game, and how long to use it. */
  pingMs: 2_000,
  statusFreshMs: 3_000,
  statusStaleMs: 60_000,
};

export type Timings = typeof DEFAULT_TIMINGS;

/** A token bucket: `burst` at once, `perSecond` more each second. */
export interface Rate {
  burst: number;
  perSecond: number;
}

/**
 * The limits of one address (IPv4 /32, IPv6 /64). A school class or the customers of a carrier or tunnel may share one
 * public address. Some thirty players can refresh their server lists, join and wait at the same time.
 */
export const DEFAULT_LIMITS = {
  connections: { burst: 64, perSecond: 20 },
  status: { burst: 96, perSecond: 6 },
  logins: { burst: 32, perSecond: 0.5 },
  /** Most sockets of one address that are not joined to a game. */
  unroutedPerAddress: 64,
  holdsPerAddress: 32,
  holdsPerServer: 128,
  /** Most sockets in total that are not joined to a game. Bounds memory, far above the needs of real players. */
  unrouted: 10_000,
  /** Multiplies the limits of an address to get those of its network (IPv4 /24, IPv6 /48). */
  networkFactor: 4,
  /** Most attempts to hand over one player. */
  handOvers: 5,
  /** Addresses and networks (`203.0.113.0/24`) exempt from the limits per address: proxies in front of this one. */
  exempt: ['127.0.0.0/8', '::1/128'],
};

export type Limits = typeof DEFAULT_LIMITS;
