/**
 * `edge-admin relay`, a relay that stands alone, as a process; and a real derper, which asks for admission in the same
 * way.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { startDerper } from '../../support/vpn/derper.ts';
import { startNode } from '../../support/edge-program.ts';
import { origin, takenPort } from '../../support/net/listening.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { connectedClient, mapOf, startClient } from '../../support/vpn/relay.ts';
import { until } from '../../support/until.ts';
import { newBoxKeys } from '../../../transport/vpn/derp/protocol.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('derper');

const PROGRAM = fileURLToPath(new URL('../../../cli/edge-admin.ts', import.meta.url));

/** Who may enter, as an admin answers: by key in hex, its clusters. */
async function admitting(
  t: ExecutionContext,
  clustersOf: ReadonlyMap<string, readonly string[]>,
): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const url = await origin(t, async (request, answer) => {
    const { NodePublic: key } = (await json(request)) as { readonly NodePublic: string };
    asked.push(key);
    const clusters = clustersOf.get(key.slice('nodekey:'.length));
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify(clusters === undefined ? { Allow: false } : { Allow: true, Clusters: clusters }));
  });
  return { url: `${url}/api/v1/relays/admission`, asked };
}

/** A relay alone; its map, as it said it. */
async function startAlone(t: ExecutionContext, dataDir: string, admissionUrl: string) {
  const relay = startNode([PROGRAM, 'relay'], {
    RELAY_HOST: '127.0.0.1',
    RELAY_PORT: '0',
    RELAY_HOSTNAME: '127.0.0.1',
    RELAY_ADMISSION_URL: admissionUrl,
    RELAY_REGION_ID: '917',
    DATA_DIR: dataDir,
  });
  t.teardown(async () => {
    relay.process.kill('SIGKILL');
    await relay.ended;
  });
  const line = await relay.says('stdout', /\n/u);
  const region = mapOf(JSON.parse(line)).regions.get(917);
  if (region === undefined) throw new Error(line);
  return { relay, identity: region.nodes[0].identity, region };
}

test('a standalone relay carries packets between admitted members of one cluster, and keeps its certificate', async (t) => {
  const pairs = [newBoxKeys(), newBoxKeys(), newBoxKeys()];
  const admission = await admitting(
    t,
    new Map(pairs.map(({ publicKey }, index) => [publicKey.toString('hex'), [index === 2 ? 'mill' : 'press']])),
  );
  const dataDir = temporaryDirectory(t);
  const { relay, identity, region } = await startAlone(t, dataDir, admission.url);

  const [one, other, foreign] = await Promise.all(
    pairs.map(({ privateKey }) => connectedClient(t, region, { privateKey: privateKey.toString('base64') })),
  );
  const stranger = startClient(t, region);
  if (!one || !other || !foreign) throw new Error('three clients');
  foreign.connection.send(other.publicKey, Buffer.from('foreign'));
  one.connection.send(other.publicKey, Buffer.from('own'));
  await until('the packet', () => other.packets.length > 0);
  await until('a refusal', () => stranger.problems.length > 0);

  t.deepEqual(
    other.packets.map(({ packet }) => packet.toString()),
    ['own'],
  );
  t.is(stranger.opened, 0);
  relay.process.kill('SIGTERM');
  t.is((await relay.ended).status, 0);
  t.deepEqual((await startAlone(t, dataDir, admission.url)).identity, identity);
});

test('a real derper asks the same route, and understands its answer', async (t) => {
  const member = newBoxKeys();
  const admission = await admitting(t, new Map([[member.publicKey.toString('hex'), ['press']]]));
  const { region } = await startDerper(t, { verifyUrl: admission.url });

  const client = await connectedClient(t, region, { privateKey: member.privateKey.toString('base64') });
  const stranger = startClient(t, region);
  await until('a refusal', () => stranger.problems.length > 0);

  t.deepEqual([client.opened, stranger.opened], [1, 0]);
  t.true(admission.asked.includes(`nodekey:${member.publicKey.toString('hex')}`));
});

test('wrong settings, a taken port and a directory that cannot be written are told in a line each', async (t) => {
  const port = await takenPort(t);
  const relay = (env: Readonly<Record<string, string>>) => startNode([PROGRAM, 'relay'], env).ended;
  const good = {
    RELAY_HOSTNAME: '127.0.0.1',
    RELAY_ADMISSION_URL: 'http://127.0.0.1:1/',
    DATA_DIR: temporaryDirectory(t),
    LOG_LEVEL: 'silent',
  };

  const noDirectory = join(good.DATA_DIR, 'file');
  writeFileSync(noDirectory, '');

  const [bare, half, taken, unwritten] = await Promise.all([
    relay({}),
    relay({ ...good, RELAY_TLS_CERT_FILE: '/nowhere.pem' }),
    relay({ ...good, RELAY_HOST: '127.0.0.1', RELAY_PORT: String(port) }),
    relay({ ...good, DATA_DIR: noDirectory }),
  ]);

  t.deepEqual([bare.status, half.status, taken.status, unwritten.status], [2, 2, 1, 1]);
  t.regex(bare.stderr, /^edge-admin: RELAY_HOSTNAME is not set.*\nedge-admin: RELAY_ADMISSION_URL is not set.*\n$/u);
  t.is(half.stderr, 'edge-admin: RELAY_TLS_CERT_FILE and RELAY_TLS_KEY_FILE should both be set, or neither\n');
  t.is(
    taken.stderr,
    `edge-admin: another program listens there already (RELAY_HOST 127.0.0.1, RELAY_PORT ${port}): end it, or set another RELAY_PORT\n`,
  );
  t.is(
    unwritten.stderr,
    `edge-admin: The relay's certificate cannot be kept in ${noDirectory} (EEXIST): set DATA_DIR to a directory that it can write\n`,
  );
});
