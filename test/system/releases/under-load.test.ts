import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import test from 'ava';
import { createClient } from '../../../cli/service/client.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { fileTarget } from '../../../transport/protocol/releases.ts';
import { scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { createReleases } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FILE_BYTES = 1_048_576;
/** So that downloads last as long as a few commands do, on a busy machine too. */
const RATE = Math.floor((8 * 1_048_576 * 1_000) / scaled(1_000));
const DOWNLOADS = 60;

test('60 machines download at once, and three take nothing: commands run as before, and the limit holds', async (t) => {
  const fleet = await startFleet(t, { agents: 1, env: { RELEASE_DOWNLOAD_BYTES_PER_SECOND: String(RATE) } });
  const releases = await createReleases(temporaryDirectory(t));
  const { files } = await releases.add({ version: '0.2.0', files: { 'edge-agent.cjs': randomBytes(FILE_BYTES) } });
  const connection = { url: fleet.admin().url, key: FLEET_KEYS.API_KEY };
  await publishRepository(releases.repository, { api: createClient(connection), connection });
  const path = `/releases/targets/${fileTarget(files[0]?.sha256 ?? '')}`;
  const { hostname, port } = new URL(connection.url);
  for (let slow = 0; slow < 3; slow += 1) {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`),
    );
    socket.on('error', () => {}).pause();
    t.teardown(() => void socket.destroy());
  }

  const start = performance.now();
  const downloads = Promise.all(
    Array.from(
      { length: DOWNLOADS },
      async () => (await (await fetch(connection.url + path)).arrayBuffer()).byteLength,
    ),
  );
  let commands = 0;
  const isOver = downloads.then(() => true);
  while (!(await Promise.race([isOver, Promise.resolve(false)]))) {
    const [execution] = await fleet.settled(await fleet.run('true'));
    t.is(execution?.exit_code, 0);
    commands += 1;
  }
  const seconds = (performance.now() - start) / 1_000;

  const sent = await downloads;
  t.deepEqual([...new Set(sent)], [files[0]?.packed_bytes]);
  t.true(seconds >= (DOWNLOADS * FILE_BYTES) / RATE - 1, `${seconds} s`);
  t.true(commands >= 3, `${commands} commands in ${seconds} s`);
  t.is((await fleet.node()).status, 'healthy');
});
