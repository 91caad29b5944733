import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Subject } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { argumentNumber } from '../parse.ts';
import { type Messages } from '../shapes.ts';
import { listing } from '../table.ts';
import type { Output } from '../terminal.ts';

const PORTS = {
  id: '',
  ports: [{ slot: 0, containerPort: 0, hostPort: 0, proto: '', label: '', host: '' }],
} satisfies Partial<Messages['Server']>;

function list({ id, ports }: typeof PORTS, out: Output): string[] {
  const rows = ports.map(({ slot, containerPort, hostPort, proto, label, host }) => [
    String(slot),
    label,
    `${containerPort}/${proto}`,
    fromOutside(host, hostPort),
  ]);
  const none = `${id} has no extra ports. Add one with: ${DORMOUSE} ports add ${id} 24454/udp --label "voice chat"`;
  return listing(out, ['SLOT', 'LABEL', 'GAME PORT', 'PUBLIC ADDRESS'], rows, none);
}

/** Returns the public address of a port; only the port if the game is on no machine. IPv6 addresses are in brackets. */
function fromOutside(host: string, port: number): string {
  if (host === '') return String(port);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function portOf(text: string): { containerPort: number; proto: 'tcp' | 'udp' } {
  const [, port = '', proto = 'tcp'] = /^(\d{1,5})(?:\/(tcp|udp))?$/.exec(text) ?? [];
  if (port === '') throw wrongUsage('A port must look like 24454/udp or 8123 (tcp).');
  return { containerPort: Number(port), proto: proto === 'udp' ? 'udp' : 'tcp' };
}

/** `dormouse ports`. */
export const ports: Subject = {
  name: 'ports',
  summary: 'Extra ports of a game, for example for voice chat or a web map.',
  commands: [
    call({
      name: 'ports list',
      summary: "List a server's extra ports.",
      args: ['id'],
      call: ({ api }, [id]) => api.GET('/v1/servers/{id}', on(id)),
      shape: PORTS,
      show: (reply, { context: { terminal } }) => list(reply, terminal.out),
    }),
    call({
      name: 'ports add',
      summary: 'Open a port that a mod or plugin listens on. Applies at the next start.',
      args: ['id', 'port[/udp]'],
      options: { label: { type: 'string', value: 'text', help: 'A description.' } },
      call: ({ api }, [id, port = ''], { label = '' }) =>
        api.POST('/v1/servers/{id}/ports', { ...on(id), body: { ...portOf(port), label } }),
      shape: PORTS,
      show: (reply, { context: { terminal } }) => list(reply, terminal.out),
    }),
    call({
      name: 'ports remove',
      summary: 'Close a port. Applies at the next start.',
      args: ['id', 'slot'],
      call: ({ api }, [id, slot = '']) =>
        api.POST('/v1/servers/{id}/ports:remove', { ...on(id), body: { slot: argumentNumber('slot', slot) } }),
      shape: PORTS,
      show: (reply, { context: { terminal } }) => list(reply, terminal.out),
    }),
  ],
};
