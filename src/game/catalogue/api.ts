import { z } from 'zod';
import { reply } from '../../http/fields.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { Catalogue } from './catalogue.ts';

/** What these operations work with. */
interface Needs {
  catalogue: Catalogue;
}

const ListMinecraftVersionsResponse = z
  .object({
    versions: z.array(z.string()).default([]).describe('Newest first.'),
    latest: reply.text.describe('Latest release.'),
  })
  .meta({ id: 'ListMinecraftVersionsResponse' });

const listMinecraftVersions = ({ catalogue }: Needs) =>
  operation({
    id: 'ListMinecraftVersions',
    method: 'get',
    path: '/v1/minecraft/versions',
    scope: 'servers:read',
    tag: 'control',
    summary: 'List Minecraft versions',
    description: 'The releases of Minecraft (Java), newest first. Which of them a core offers is up to the core.',
    reply: ListMinecraftVersionsResponse,
    run: async () => catalogue.versions(),
  });

export const catalogueOperations = (needs: Needs): readonly Operation[] => [listMinecraftVersions(needs)];
