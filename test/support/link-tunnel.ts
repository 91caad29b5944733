/**
 * Loaded before a proxy: what comes to TUNNEL_PORT of its loopback goes on to TUNNEL_TO (`host:port`), as through a tunnel of an
 * operator's. A proxy speaks plainly to nobody but its own machine.
 */
import { connect, createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const [host = '', port = ''] = (process.env['TUNNEL_TO'] ?? '').split(':');

if (isMainThread && host !== '') {
  createServer((near) => {
    const far = connect(Number(port), host);
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  })
    .listen(Number(process.env['TUNNEL_PORT']), '127.0.0.1')
    .unref();
}
