/**
 * Returns the first `most` characters of a text. Does not split a surrogate pair or keep the rest of the text in
 * memory.
 */
export function shortText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = isHigh(text.charCodeAt(most - 1)) ? most - 1 : most;
  // A slice of a long string would keep the whole string in memory.
  return Buffer.from(text.slice(0, end)).toString();
}

function isHigh(unit: number): boolean {
  return unit >= 0xd8_00 && unit < 0xdc_00;
}
