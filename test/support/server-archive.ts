import { tarBlock } from './hostile-archives.ts';

/** The files of a Paper server from another host. */
export const SERVER_FILES: Record<string, string> = {
  'server.properties': 'level-name=lobby\nmotd=Hello\npvp=false\n',
  'start.sh': 'java -Xmx1G -jar paper.jar',
  'paper-1.21.8-60.jar': 'jar',
  'eula.txt': 'eula=true',
  'lobby/level.dat': 'level',
  'plugins/Vault-1.7.jar': 'jar',
};

/** Returns a tar with the files below one folder. */
export function tarOf(files: Record<string, string>, top = 'top/'): Buffer {
  const blocks = Object.entries(files).map(([path, text]) => tarBlock(`${top}${path}`, '0', Buffer.from(text)));
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
