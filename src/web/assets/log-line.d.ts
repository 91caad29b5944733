/**
 * Returns `warn`, `error`, or '' for neither. `before`: the level of the previous line, which a stack trace continues.
 */
export declare function logLevel(line: string, before: string): string;

/** Splits a line into pieces of one style each. `look`: its class names, '' for none. The texts are not markup. */
export declare function logPieces(line: string): { text: string; look: string }[];

/** Like `logPieces`; the name of a player who speaks, joins or leaves is a piece of its own with `isPlayer`. */
export declare function linePieces(line: string): { text: string; look: string; isPlayer?: true }[];

/** Whether a line belongs to the stack trace of the line before it. */
export declare function isOfTrace(line: string): boolean;
