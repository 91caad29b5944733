/** Every time span of the proxy, in ms, with the value it has in production. Tests make them short. */
export interface Timings {
  /** From accept to the first byte. */
  firstByteMs: number;
  /** From accept to the end of the handshake and of the packet behind it. */
  openingMs: number;
  /** From accept to the end of a status exchange. */
  statusMs: number;
  /** How long the rest of a fragmented legacy ping is waited for. */
  legacyTailMs: number;
  /** How long a client gets to read its kick and leave. */
  farewellMs: number;
  /** Once one side of a pipe has ended: how long the other may go without moving a byte. */
  lingerMs: number;
  /** How long a side of a pipe may take nothing although there is something for it. */
  stallMs: number;
  /** Deadlines are looked after this often, all in one pass. */
  sweepMs: number;
  /** Between two signs of life to a held player: clients give up after 30 s of silence (1.7: 20 s). */
  beatMs: number;
  /**
   * Delay before the first Set Compression. Late, because some programs that claim 1.8 to 1.12 (bots, proxies) fail on
   * the packet although the game does not: those that wait less never see it.
   */
  compressionFirstBeatMs: number;
  /** A held player who has not answered a plugin request for this long is gone. */
  answerMs: number;
  /** Below 1.13 nothing can be asked of a client, so a join must last this long before it wakes a server. */
  dwellMs: number;
  /**
   * Clients below 1.8 cannot be sent keep-alives either: the player is asked to come back before the client gives up.
   */
  silentHoldMs: number;
  /** The end of every hold. Longer than a start may take. */
  maxHoldMs: number;
  /** How long a client may take to answer, and the session service too, when an account is checked. */
  verifyMs: number;
  /** For how long a checked account may wake servers without another check. */
  verifiedMs: number;
  /** In the waiting room: what is shown is looked at this often, and replaced where it has changed. */
  dialogMs: number;
  /** How long a player may read there why they cannot join. */
  explainMs: number;
  /** How long a player who was sent on from there may take to come back. */
  returnMs: number;
  dialMs: number;
  /** Between two attempts to hand a player over. */
  redialMs: number;
  /** A game ready for less than this may still turn players away although it means to let them in. */
  youngMs: number;
  /** How long the first packet of a young game is waited for; with a dial it must fit between two beats. */
  firstPacketMs: number;
  /** For the live answer of a running game, and how long it is used. */
  pingMs: number;
  statusFreshMs: number;
  statusStaleMs: number;
}

export const DEFAULT_TIMINGS: Timings = {
  firstByteMs: 3_000,
  openingMs: 5_000,
  statusMs: 10_000,
  legacyTailMs: 300,
  farewellMs: 5_000,
  lingerMs: 30_000,
  stallMs: 120_000,
  sweepMs: 1_000,
  beatMs: 10_000,
  compressionFirstBeatMs: 20_000,
  answerMs: 20_000,
  dwellMs: 3_000,
  silentHoldMs: 17_000,
  maxHoldMs: 15 * 60_000,
  verifyMs: 15_000,
  verifiedMs: 10 * 60_000,
  dialogMs: 1_000,
  explainMs: 60_000,
  returnMs: 60_000,
  dialMs: 3_000,
  redialMs: 4_000,
  youngMs: 60_000,
  firstPacketMs: 5_000,
  pingMs: 2_000,
  statusFreshMs: 3_000,
  statusStaleMs: 60_000,
};

/** So many at once, and so many more each second. */
export interface Rate {
  burst: number;
  perSecond: number;
}

/** The limits of one address (IPv4 /32, IPv6 /64), with the defaults used in production. */
export interface Limits {
  connections: Rate;
  status: Rate;
  logins: Rate;
  /** Sockets not joined to a game. */
  unroutedPerAddress: number;
  holdsPerAddress: number;
  holdsPerServer: number;
  /** Sockets not joined to a game, from everywhere: a bound on memory, far above what real players need. */
  unrouted: number;
  /** A network (IPv4 /24, IPv6 /48) may do this many times what one address may. */
  networkFactor: number;
  /** Attempts to hand one player over. */
  handOvers: number;
  /** Addresses and networks (`203.0.113.0/24`) without the limits per address: those of proxies in front of this one. */
  exempt: readonly string[];
}

/**
 * A class at school, the customers of a carrier or a tunnel share one public address: some thirty players may refresh their server
 * lists, join and wait at the same time.
 */
export const DEFAULT_LIMITS: Limits = {
  connections: { burst: 64, perSecond: 20 },
  status: { burst: 96, perSecond: 6 },
  logins: { burst: 32, perSecond: 0.5 },
  unroutedPerAddress: 64,
  holdsPerAddress: 32,
  holdsPerServer: 128,
  unrouted: 10_000,
  networkFactor: 4,
  handOvers: 5,
  exempt: ['127.0.0.0/8', '::1/128'],
};
