import * as z from 'zod';
import { line, message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { type Addresses, endpointOf } from '../servers/api/addresses.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { Shared } from '../servers/shared.ts';
import { type OwnNames, isOwn } from './own-names.ts';

const COMMON = {
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  params: ServerParams,
  reply: z
    .object({
      address: reply.text.describe('The address of the server itself.'),
      names: z
        .array(
          z.object({
            name: reply.text,
            state: reply.text.describe(
              '`pending`: not proved yet. `proved`: players can join. `former`: a former address.',
            ),
            provedAt: reply.timestamp.describe('The last proof; null without one.'),
            expiresAt: reply.timestamp.describe('The name is released then, unless DNS proves it before.'),
            txtName: reply.text.describe('The name of the TXT record that proves the name.'),
            txtValue: reply.text,
            srv: reply.text.describe('An SRV record as a line of a zone file. Empty: the server has no public name.'),
          }),
        )
        .default([]),
    })
    .meta({ id: 'ServerNames' }),
} as const;

export const ListServerNames = operation({
  ...COMMON,
  id: 'ListServerNames',
  method: 'get',
  path: '/v1/servers/{id}/names',
  summary: 'List own names and former addresses',
  description: 'Includes the DNS records to create for each own name.',
});

export const AddServerName = operation({
  ...COMMON,
  id: 'AddServerName',
  method: 'post',
  path: '/v1/servers/{id}/names',
  expensive: true,
  summary: 'Add an own name, or check it now',
  description:
    'A host name of your domain, at which players join the server. It counts once DNS has the TXT record `txtName` ' +
    'with the value `txtValue`. This call asks DNS at once; after that, the service asks every 10 minutes, and twice ' +
    'a day once the name is proved. Keep the record: a name without it is released after 7 days. If the records of ' +
    'two servers exist, the server that holds the name keeps it. Fails with FAILED_PRECONDITION if this service ' +
    'allows no own names.',
  body: message({ name: line(253) }).meta({ id: 'AddServerNameRequest' }),
  example: { name: 'play.example.org' },
});

export const RemoveServerName = operation({
  ...COMMON,
  id: 'RemoveServerName',
  method: 'post',
  path: '/v1/servers/{id}/names:remove',
  summary: 'Remove an own name or a former address',
  description: 'Players can no longer join at this name. Another server may get it.',
  body: message({ name: line(253) }).meta({ id: 'RemoveServerNameRequest' }),
  example: { name: 'play.example.org' },
});

export const SetServerHostname = operation({
  ...COMMON,
  id: 'SetServerHostname',
  method: 'post',
  path: '/v1/servers/{id}:setHostname',
  summary: 'Change the address',
  description:
    'Sets the first label of the address. The id stays. The former address leads to the server for 30 days, and no ' +
    'other server can get it meanwhile. Fails with ALREADY_EXISTS if another server has or had this address.',
  body: message({ hostname: line(40) }).meta({ id: 'SetServerHostnameRequest' }),
  example: { hostname: 'castle' },
});

export const nameOperations = (
  { serveServer, servers, clock }: Shared,
  ownNames: OwnNames,
  addresses: Addresses,
): readonly Served[] => {
  const view = async (id: string) => {
    const row = (await servers.get(id))?.row;
    const address = row ? addresses.of(row) : '';
    const { host, port } = endpointOf(address);
    const names = ownNames.of(id).map((each) => {
      const { name, provedAt, expiresAt } = each;
      if (!isOwn(each)) return { name, state: 'former', expiresAt };
      const { name: txtName, value: txtValue } = ownNames.proofOf(each);
      const hasName = host !== '' && host !== 'localhost' && !host.endsWith('.localhost');
      const srv = hasName ? `_minecraft._tcp.${name}. 3600 IN SRV 0 5 ${port} ${host}.` : '';
      return { name, state: provedAt === null ? 'pending' : 'proved', provedAt, expiresAt, txtName, txtValue, srv };
    });
    return { address, names };
  };
  return [
    serveServer(ListServerNames, ({ server }) => view(server.row.id)),
    serveServer(AddServerName, async ({ server: { row }, body: { name }, principal }) => {
      const entry = { action: 'server.name.add', detail: name, at: clock.now() };
      await ownNames.add(row.id, name, recordOnServer(principal, row, entry));
      return view(row.id);
    }),
    serveServer(RemoveServerName, async ({ server: { row }, body: { name }, principal }) => {
      const entry = { action: 'server.name.remove', detail: name, at: clock.now() };
      await ownNames.remove(row.id, name, recordOnServer(principal, row, entry));
      return view(row.id);
    }),
    serveServer(SetServerHostname, async ({ server: { row }, body: { hostname }, principal }) => {
      const entry = { action: 'server.hostname', detail: `${row.hostname} to ${hostname}`, at: clock.now() };
      await ownNames.rename(row.id, hostname, recordOnServer(principal, row, entry));
      return view(row.id);
    }),
  ];
};
