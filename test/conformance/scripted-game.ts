import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

// A program that behaves as its environment says, in place of a game. See busybox-image.ts for the same in a container.
const { GAME_PRINT, GAME_FAREWELL, GAME_EXIT, GAME_IGNORE_STOP, GAME_ECHO, GAME_HELPER } = process.env;
const { SERVER_IP, SERVER_PORT } = process.env;

process.on('SIGTERM', () => {
  if (GAME_IGNORE_STOP) return;
  if (GAME_FAREWELL) console.log(GAME_FAREWELL);
  process.exit(0);
});
if (GAME_PRINT !== undefined) console.log(GAME_PRINT);
if (GAME_EXIT) process.exitCode = Number(GAME_EXIT);
if (GAME_HELPER) {
  // A helper process in a session of its own does the game's work.
  const env = { ...process.env, GAME_HELPER: '', SERVER_PORT: '0' };
  spawn(process.execPath, [import.meta.filename], { env, detached: true, stdio: 'ignore' });
} else if (GAME_ECHO) {
  createServer((socket) => socket.pipe(socket)).listen(Number(GAME_ECHO), '127.0.0.1');
  const udp = createSocket('udp4').bind(Number(GAME_ECHO), '127.0.0.1');
  udp.on('message', (datagram, { port, address }) => udp.send(datagram, port, address));
}
if (!GAME_EXIT) createServer((socket) => socket.end()).listen(Number(SERVER_PORT), SERVER_IP);
