/** All chunks in one piece. Throws `tooLarge` as soon as they are more than `maxBytes`; what they come from is ended then. */
export async function bytesWithin(
  maxBytes: number,
  chunks: AsyncIterable<Uint8Array>,
  tooLarge = () => new Error(`more than ${maxBytes} bytes`),
): Promise<Buffer> {
  const taken: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    taken.push(chunk);
  }
  return Buffer.concat(taken);
}
