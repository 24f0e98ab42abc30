/**
 * The disk of the database is full: it answers every question and takes no write, and health says so (docs/health.md).
 */
import { startEmbeddedPostgres } from '../../../persistence/embedded/launcher.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { silentLog } from '../../support/log.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

const test = await peerTest('root');

/** Room for an empty database and its first logs, in MiB. */
const DISK_MIB = 320;

/**
 * Well again within this after there is room, in ms. Source: docs/promises.md, L3, and a second between two writes of
 * health.
 */
const BACK_MS_MAX = 10_000;

test('with a full database disk health is red and callers are asked to retry; room on the disk soon ends both', async (t) => {
  const disk = smallDisk(t, DISK_MIB * 1_024, 0o755);
  if (disk === null) return t.fail('root may mount a disk');
  const server = await startEmbeddedPostgres({ dataDir: disk, log: silentLog });
  t.teardown(() => server.stop());
  const fleet = await startFleet(t, { connection: server.connection });
  const url = fleet.admins[0]?.url ?? '';
  const database = async () => {
    const response = await fetch(`${url}/healthz`);
    const checks = (await response.json()) as readonly {
      readonly name: string;
      readonly healthy: boolean;
      readonly error: string | null;
    }[];
    const check = checks.find(({ name }) => name === 'database');
    return [response.status, check?.healthy, check?.error] as const;
  };
  const first = await until('health to be well at first', async () => {
    const now = await database();
    return now[1] === true && now;
  });
  t.deepEqual(first, [200, true, null]);

  const free = fill(disk);
  const [status, , error] = await until('health to be red', async () => {
    const now = await database();
    return now[1] === false && now[2]?.startsWith('it answers') ? now : null; // a busy one may not, for a moment
  });
  const refused = await until('a create that finds no room', async () => {
    const answer = await fetch(`${url}/api/v1/clusters`, {
      method: 'POST',
      headers: { authorization: `Bearer ${FLEET_KEYS.API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `c${Math.random().toString(36).slice(2, 10)}` }),
    });
    return answer.status === 201 ? null : answer;
  });
  const read = await until('a list', async () => {
    const answer = await fetch(`${url}/api/v1/clusters`, {
      headers: { authorization: `Bearer ${FLEET_KEYS.API_KEY}` },
    });
    return answer.status === 200 && answer;
  });

  t.deepEqual(
    [status, error, refused.status, refused.headers.get('retry-after') !== null, read.status],
    [503, 'it answers, and takes no writes: its disk is full, or it is read-only', 503, true, 200],
  );
  free();
  const freedMs = performance.now();
  await until('health to be well', async () => (await database())[1]);
  await until('a create that is stored', () => fleet.rest.post('/clusters', { name: 'after' }));
  t.true(performance.now() - freedMs < scaled(BACK_MS_MAX));
  return undefined;
});
