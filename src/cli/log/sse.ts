const MAX_LINE_CHARS = 1024 * 1024;

/** An event of a stream. */
export interface StreamEvent {
  /** '' if it has none. */
  id: string;
  /** Its type; `message` if not given. */
  event: string;
  data: string;
}

/**
 * Yields the events of an event stream (WHATWG HTML §9.2.6). Skips comments and other fields. Throws if a line exceeds
 * a mebibyte of characters.
 */
export async function* eventsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  let fields: Record<string, string> = {};
  let data: string[] = [];
  for await (const line of linesOf(chunks)) {
    if (line === '') {
      const { id = '', event = 'message' } = fields;
      if (data.length > 0) yield { id, event, data: data.join('\n') };
      data = [];
      fields = {};
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else fields[name] = value;
  }
}

/** Yields only the data of each event. */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of eventsIn(chunks)) yield data;
}

/** Yields lines that end in CR, LF or CR LF. Text after the last line end is not a line yet. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CR LF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARS) throw new RangeError('A line of the stream is too long.');
    yield* lines;
  }
}
