import { z } from 'zod';
import { reply } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';

const ListMinecraftVersionsResponse = z
  .object({
    versions: z.array(z.string()).default([]).describe('Newest first.'),
    latest: reply.text.describe('Latest release.'),
  })
  .meta({ id: 'ListMinecraftVersionsResponse' });

export const listMinecraftVersions = operation({
  id: 'ListMinecraftVersions',
  method: 'get',
  path: '/v1/minecraft/versions',
  scope: 'servers:read',
  tag: 'control',
  summary: 'List Minecraft versions',
  description: 'The releases of Minecraft (Java), newest first. Which of them a core offers is up to the core.',
  reply: ListMinecraftVersionsResponse,
}).handle(async (_, { catalogue }) => catalogue.versions());
