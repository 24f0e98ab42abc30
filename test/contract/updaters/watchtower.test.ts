/**
 * Watchtower itself as the updater, as containrrr made it (v1.7.1), at the API that podman serves for Docker's. There
 * are no containers: what is looked at is that it takes the signal, and what agents make of its answers.
 */
import { connect, createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { Program } from '../../support/fleet/program.ts';
import { listening } from '../../support/net/listening.ts';
import { peerPath } from '../../support/run/peers.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { updaterContract, type ContractUpdater } from './contract.ts';

const test = await peerTest('watchtower', 'podman', 'root');

const TOKEN = 'the-token-of-watchtower';

/** Podman's service in a directory of its own, and a Watchtower that asks it; both end with the test. */
async function startWatchtower(t: ExecutionContext): Promise<ContractUpdater> {
  const directory = temporaryDirectory(t);
  const [docker, socket] = [join(directory, 'docker.sock'), join(directory, 'watchtower.sock')];
  const places = ['--root', join(directory, 'root'), '--runroot', join(directory, 'run')];
  const how = ['--storage-driver', 'vfs', '--cgroup-manager', 'cgroupfs'];
  const service = ['system', 'service', '--time=0', `unix://${docker}`];
  const podman = Program.run(t, await peerPath('podman'), [...places, ...how, ...service]);
  await until(`podman's service: ${podman.output.slice(-500)}`, () => existsSync(docker));
  const words = ['--net', await peerPath('watchtower'), '--http-api-update', '--no-startup-message', '--debug'];
  const watchtower = Program.run(t, 'unshare', words, {
    DOCKER_HOST: `unix://${docker}`,
    WATCHTOWER_HTTP_API_TOKEN: TOKEN,
    WATCHTOWER_TEST_SOCKET: socket,
  });
  await until('Watchtower', () => {
    if (watchtower.exit !== null) throw new Error(watchtower.output.slice(-1_000));
    return watchtower.output.includes('The HTTP API is enabled');
  });
  const port = await listening(
    t,
    createServer((client) => {
      const server = connect(socket);
      client.pipe(server).on('error', () => client.destroy());
      server.pipe(client).on('error', () => server.destroy());
    }),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    token: TOKEN,
    begun: () => watchtower.output.split('Updates triggered by HTTP API request').length - 1,
  };
}

updaterContract(test, 'Watchtower v1.7.1', startWatchtower);
