/** Names of fields that may hold a secret. */
const SECRET = /pass(?:word|phrase)?$|secret|token|credential|authorization|cookie|hmac|hash$|private/i;
/** Our own keys, tokens and device codes (`ids.ts`), anywhere in a text. */
const MINTED = /\bdm[a-z]_[0-9A-Za-z]{16,}/g;
/** `rcon.password=…`, `"token": "…"`, `--secret …` in a log line. */
const ASSIGNED =
  /((?:pass(?:word|phrase)?|secret|token|authorization)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|(?:bearer\s+)?\S+)/gi;
const REDACTED = '[redacted]';

/** Returns a copy of plain JSON without possible secrets, detected by field names and text patterns. */
export function redacted(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(MINTED, REDACTED).replaceAll(ASSIGNED, `$1${REDACTED}`);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      SECRET.test(name) && field !== null ? REDACTED : redacted(field),
    ]),
  );
}
