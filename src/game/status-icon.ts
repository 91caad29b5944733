const ICON = /^data:image\/png;base64,([A-Za-z0-9+/=\r\n]{1,65536})$/;
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

/**
 * Returns the icon in the game's last status JSON, as PNG; undefined without one. It is validated, because the game may
 * write anything there.
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
