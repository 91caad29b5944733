const ICON = /^data:image\/png;base64,([A-Za-z0-9+/=\r\n]{1,65536})$/;
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

/**
 * The icon in the status JSON that a game gave last, as PNG; undefined where there is none. It is checked, as the game wrote it and
 * it may be anything.
 */
export function iconOf(lastStatus: string): Buffer | undefined {
  const [, base64 = ''] = ICON.exec(faviconOf(lastStatus)) ?? [];
  const icon = Buffer.from(base64, 'base64');
  return icon.subarray(0, PNG.length).equals(PNG) ? icon : undefined;
}

function faviconOf(lastStatus: string): string {
  try {
    const status: unknown = JSON.parse(lastStatus.split('\n', 1)[0] ?? '');
    const favicon = typeof status === 'object' && status !== null && 'favicon' in status ? status.favicon : '';
    return typeof favicon === 'string' ? favicon : '';
  } catch {
    return '';
  }
}
