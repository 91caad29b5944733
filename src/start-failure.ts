import { type Config, ConfigError } from './config.ts';
import { StatusError } from './kernel/status.ts';

/** The fields of Node's, SQLite's and PostgreSQL's errors besides their message. */
interface SystemError extends Error {
  code?: string;
  syscall?: string;
  path?: string;
  port?: number;
  driverError?: SystemError;
}

/**
 * Returns why the service could not start, in a sentence with a remedy. If neither a setting nor this machine explains
 * it, returns the error with its stack. `config` is undefined if the settings themselves are wrong.
 */
export function startFailure(error: unknown, config?: Config): string {
  if (error instanceof ConfigError || error instanceof StatusError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const failure = (error as SystemError).driverError ?? error;
  const known =
    config && (portFailure(failure, config) ?? databaseFailure(failure, config) ?? folderFailure(failure, config));
  return known ?? error.stack ?? error.message;
}

function portFailure({ code = '', port, syscall }: SystemError, config: Config): string | undefined {
  if (syscall !== 'listen' && syscall !== 'bind' && code !== 'EADDRINUSE') return undefined;
  const { httpPort, proxyPort, sftpPort } = config;
  const [name, what] =
    port === httpPort
      ? ['HTTP_PORT', 'the API and the pages']
      : port === sftpPort
        ? ['SFTP_PORT', 'SFTP']
        : port === proxyPort
          ? ['PROXY_PORT', 'players']
          : ['HTTP_PORT, PROXY_PORT or SFTP_PORT', 'Dormouse'];
  const which = port === undefined ? 'A port' : `Port ${port} for ${what}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${which} is already in use. Stop the program that uses it, or set ${name} to another port.${port === proxyPort ? ' A proxy without players ends a minute after its service.' : ''}`;
    case 'EACCES':
      return `${which} may not be opened by this user. Most systems reserve the ports below 1024. Set ${name} to another port.`;
    case 'EADDRNOTAVAIL':
      return `${which} cannot be opened because this machine does not have the address. Check ${name.replaceAll('PORT', 'HOST')}.`;
    default:
      return undefined;
  }
}

function databaseFailure({ code = '', message }: SystemError, { databaseUrl, dataDir }: Config): string | undefined {
  if (databaseUrl.startsWith('sqlite:')) {
    const file = databaseUrl.slice('sqlite:'.length);
    switch (code) {
      case 'SQLITE_CORRUPT':
      case 'SQLITE_NOTADB':
        return `The database ${file} is damaged. Move it away, with ${file}-wal and ${file}-shm if they exist. Then restore a copy, or start with an empty database (servers' files stay in ${dataDir}).`;
      case 'SQLITE_CANTOPEN':
      case 'SQLITE_READONLY':
      case 'SQLITE_PERM':
        return `The database ${file} cannot be written by this user. Make the user the owner of the file and its folder, or choose another DATA_DIR.`;
      case 'SQLITE_FULL':
      case 'SQLITE_IOERR':
        return `The database ${file} cannot be written (${message}): the disk may be full.`;
      default:
        return undefined;
    }
  }
  const { host, pathname } = new URL(databaseUrl);
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ECONNRESET':
      return `PostgreSQL at ${host} does not respond (${code}). Check that it is running and that DATABASE_URL is correct.`;
    case '28P01':
    case '28000':
      return `PostgreSQL at ${host} refuses the user or password of DATABASE_URL.`;
    case '3D000':
      return `PostgreSQL at ${host} has no database ${pathname.slice(1)}. Create it, or set another one in DATABASE_URL.`;
    default:
      return undefined;
  }
}

function folderFailure({ code = '', path = '', syscall }: SystemError, { dataDir }: Config): string | undefined {
  const where = `DATA_DIR (${dataDir})`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `${where} may not be used by this user${path === '' ? '' : ` (${path})`}. Make the user its owner, or choose another folder.`;
    case 'EROFS':
      return `${where} is on a read-only disk. Choose another folder.`;
    case 'ENOENT':
      // Node reports EROFS in this way when it creates a folder with its parents.
      return syscall === 'mkdir'
        ? `${where} cannot be created: its disk may be read-only. Choose another folder.`
        : undefined;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${where} is not a folder: ${path === '' ? 'part of its path' : path} is a file. Choose another folder.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `${where} is on a full disk. Free some space.`;
    default:
      return undefined;
  }
}
