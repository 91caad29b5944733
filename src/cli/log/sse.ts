const MAX_LINE_CHARS = 1024 * 1024;

/**
 * The data of each event of an event stream (WHATWG HTML §9.2.6), as it comes. Comments and other fields are skipped.
 * Throws where a line is longer than a mebibyte of characters.
 */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of linesOf(chunks)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line === 'data' || line.startsWith('data:')) {
      data.push(line.slice(5).replace(/^ /, ''));
    }
  }
}

/** Lines that end in CR, LF or CR LF; what follows the last end is not a line yet. */
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
