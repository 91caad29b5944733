import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { wrongUsage } from '../errors.ts';

const SERVER = { id: '' };

/** `dormouse suspend`. */
export const suspend = call({
  name: 'suspend',
  summary: "Stop anybody's server, and let nothing wake it; its owner reads the reason.",
  args: ['id', 'reason'],
  call: ({ api }, [id, reason = '']) => api.POST('/v1/operator/servers/{id}:suspend', { ...on(id), body: { reason } }),
  shape: SERVER,
  show: ({ id }) => [`${id} is suspended. Its files stay. End it with: ${DORMOUSE} unsuspend ${id} <reason>`],
});

/** `dormouse unsuspend`. */
export const unsuspend = call({
  name: 'unsuspend',
  summary: 'End that: the server may wake again.',
  args: ['id', 'reason'],
  call: ({ api }, [id, reason = '']) =>
    api.POST('/v1/operator/servers/{id}:unsuspend', { ...on(id), body: { reason } }),
  shape: SERVER,
  show: ({ id }) => [`${id} may wake again.`],
});

/** `dormouse quota`. */
export const quota = call({
  name: 'quota',
  summary: 'Set what the files of a server may take, in MB; 0: as the installation has it.',
  args: ['id', 'mb', 'reason'],
  async call({ api }, [id, mb = '', reason = '']) {
    if (!/^\d{1,9}$/.test(mb)) throw wrongUsage('A quota is in whole MB, like 20480.');
    return api.POST('/v1/operator/servers/{id}:setDiskQuota', { ...on(id), body: { quotaMb: Number(mb), reason } });
  },
  shape: SERVER,
  show: ({ id }, { args: [, mb] }) => [
    mb === '0' ? `${id} has the quota of the installation again.` : `The files of ${id} may take ${mb} MB.`,
  ],
});
