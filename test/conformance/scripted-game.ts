import { createServer } from 'node:net';

// A program that behaves as its environment says, in place of a game: see busybox-image.ts for the same in a container.
const { GAME_PRINT, GAME_FAREWELL, GAME_EXIT, GAME_IGNORE_STOP, SERVER_IP, SERVER_PORT } = process.env;

process.on('SIGTERM', () => {
  if (GAME_IGNORE_STOP) return;
  if (GAME_FAREWELL) console.log(GAME_FAREWELL);
  process.exit(0);
});
if (GAME_PRINT !== undefined) console.log(GAME_PRINT);
if (GAME_EXIT) process.exitCode = Number(GAME_EXIT);
else createServer((socket) => socket.end()).listen(Number(SERVER_PORT), SERVER_IP);
