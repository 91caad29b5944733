import test from 'ava';
import { startService } from '../support/service.ts';

test('the service refuses to start with another engine beside awake servers, and adopts them with the old one', async (t) => {
  const service = await startService(t, { ENGINE: 'process' });
  const { id } = await service.create('Castle', '1.20.4');
  await service.call('POST', `/v1/servers/${id}:start`, {});
  await service.reach(id, 'running');
  await service.stop();
  const docker = { ENGINE: 'docker', DOCKER_HOST: 'unix:///nowhere/docker.sock' };
  await t.throwsAsync(service.start(docker), {
    message: /1 server was last seen awake on ENGINE=process[^]*ENGINE_CHANGE=accept/,
  });
  await service.start({ ENGINE: 'process' });
  await service.reach(id, 'running');
  await service.call('POST', `/v1/servers/${id}:stop`, {});
  await service.reach(id, 'hibernated');
  await service.stop();
  await service.start(docker);
  t.is((await service.reach(id, 'hibernated')).state, 'hibernated');
});
