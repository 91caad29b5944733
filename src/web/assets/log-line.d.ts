/** `warn`, `error`, or '' for neither. `before`: that of the line before, which a stack trace goes on with. */
export declare function logLevel(line: string, before: string): string;

/** A line in pieces of one colour each; `look` is the names of its classes, '' for none. Nothing of it is markup. */
export declare function logPieces(line: string): { text: string; look: string }[];
