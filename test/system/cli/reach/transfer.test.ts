/** Files to many machines and from them: `edge push` and `edge pull`, end to end. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import ava from 'ava';
import { listening } from '../../../support/net/listening.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope, type Scope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { until } from '../../../support/until.ts';
import { ALIAS, type Env } from './fixture.ts';
import { createTransferFixture, type TransferFixture } from './transfer-fixture.ts';

const test = await peerTest('ssh-keygen');

/** More than is sent again after an interruption, in bytes. */
const LARGE_BYTES = 12_000_000;

/** What comes through before a push stands still, in bytes: more than is waited for, and less than there is. */
const NARROW_BYTES = 30_000_000;

/** An account that is neither root nor whoever runs the tests. */
const NOBODY = 65_534;

const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1, agentEnv: { AGENT_ALIASES: ALIAS, AGENT_LABELS: 'tier=web' } });
let fixture: TransferFixture;
/** The node of db-1. */
let database = '';

test.before(async () => {
  const more = await Promise.all([
    fleet().addAgent({ AGENT_ALIASES: 'web-2', AGENT_LABELS: 'tier=web' }),
    fleet().addAgent({ AGENT_ALIASES: 'db-1', AGENT_LABELS: 'tier=db' }),
  ]);
  await Promise.all(more.map((agent) => agent.live()));
  await Promise.all(more.map((agent) => fleet().reaches(agent, 'healthy')));
  database = more[1]?.node ?? '';
  fixture = await createTransferFixture(scope, fleet(), [fleet().agent(), ...more]);
});

ava.after.always('its files go', () => scope.end());

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const at = (...path: string[]): string => fixture.at(...path);

/** A file here with any content. */
function source(name: string, bytes: number): Buffer {
  const content = randomBytes(bytes);
  writeFileSync(at(name), content);
  return content;
}

test.serial('a file goes to all that have a label, a line each, and to nobody else', async (t) => {
  const content = source('app.conf', 300_000);
  mkdirSync(at('there'));

  const { status, stdout, stderr } = await fixture.push(at('app.conf'), '-l', `tier=web:${at('there')}/`);

  const line = `${at('there', 'app.conf')} (293 KiB, SHA-256 ${sha256(content).slice(0, 16)}`;
  t.deepEqual(
    [
      status,
      stdout
        .split('\n')
        .map((text) => text.replace(', was there', ''))
        .toSorted(),
    ],
    [0, ['', `web-1: ${line})`, `web-2: ${line})`]],
    stderr,
  );
  t.regex(stderr, /^edge: 2 of 2 done, \d+ KiB, \d+\.\d s\n$/u);
  t.deepEqual(readdirSync(at('there')), ['app.conf']);
  t.true(readFileSync(at('there', 'app.conf')).equals(content));
});

test.serial(
  'several files come into a directory, an empty one too, and what is there already is not sent',
  async (t) => {
    const contents = [source('one', 70_000), source('two', 0)];
    mkdirSync(at('several'));
    const words = ['-o', 'json', at('one'), at('two'), '-n', 'db-1', '--to', at('several')];

    const [first, again] = [await fixture.push(...words), await fixture.push(...words)];

    const files = (wasThere: boolean) =>
      ['one', 'two'].map((name, index) => ({
        path: at('several', name),
        bytes: contents[index]?.length,
        sha256: sha256(contents[index] ?? Buffer.alloc(0)),
        went_on_at: 0,
        was_there: wasThere,
      }));
    t.deepEqual(fixture.machines(first)[0]?.files, files(false) as never, first.stderr);
    t.deepEqual(fixture.machines(again)[0]?.files, files(true) as never, again.stderr);
  },
);

test.serial(
  'what is replaced gives its mode and owner, a link stays one, and a new file has the mode of its source',
  async (t) => {
    const content = source('script', 10);
    chmodSync(at('script'), 0o750);
    writeFileSync(at('real'), 'old');
    if (process.getuid?.() === 0) chownSync(at('real'), NOBODY, NOBODY);
    chmodSync(at('real'), 0o4640);
    const { uid, gid, mode } = statSync(at('real'));
    symlinkSync(at('real'), at('link'));

    t.is((await fixture.push(at('script'), '-n', `db-1:${at('link')}`)).status, 0);
    t.is((await fixture.push(at('script'), '-n', 'db-1', '--to', at('new file, with a comma'))).status, 0);

    t.like(statSync(at('real')), { uid, gid, mode });
    t.is(statSync(at('new file, with a comma')).mode & 0o777, 0o750);
    t.true(lstatSync(at('link')).isSymbolicLink());
    t.true(readFileSync(at('real')).equals(content));
  },
);

test.serial('what was left of a push is gone on from where its digest is right, and not where it is not', async (t) => {
  const content = source('large', LARGE_BYTES);
  mkdirSync(at('left'));
  const part = at('left', `.large.${database.slice(0, 8)}.edge-part`);
  const words = ['-o', 'json', at('large'), '-n', `db-1:${at('left')}/`];
  const left = content.subarray(0, 9_000_000);

  writeFileSync(part, left);
  const [right] = fixture.machines(await fixture.push(...words));
  truncateSync(at('left', 'large'), 1_000);
  writeFileSync(part, Buffer.concat([left.subarray(0, 1_000), Buffer.of(0), left.subarray(1_001)]));
  const [wrong] = fixture.machines(await fixture.push(...words));

  t.deepEqual([right?.files[0]?.went_on_at, wrong?.files[0]?.went_on_at], [9_000_000 - 2_097_152, 0]);
  t.true(readFileSync(at('left', 'large')).equals(content));
  t.deepEqual(readdirSync(at('left')), ['large']);
});

/**
 * A way to the proxy that lets so much up, and no more: who pushes more is still at it, however busy the machine is.
 */
async function narrowWay(t: Scope): Promise<Env> {
  const server = createServer((near) => {
    const far = connect(Number(new URL(fixture.env.EDGE_PROXY_URL).port), '127.0.0.1');
    for (const socket of [near, far])
      socket
        .on('error', () => {})
        .on('close', () => {
          near.destroy();
          far.destroy();
        });
    far.pipe(near);
    near.on('data', (bytes) => {
      far.write(bytes);
      if (near.bytesRead > NARROW_BYTES) near.pause();
    });
  });
  return { EDGE_PROXY_URL: `http://127.0.0.1:${await listening(t, server)}` };
}

test.serial('a push that is killed, and one that is left by Ctrl-C, go on where they stopped', async (t) => {
  const content = source('huge', 150_000_000);
  mkdirSync(at('killed'));
  const words = [...fixture.login, at('huge'), '-n', `db-1:${at('killed')}/`];
  const partBytes = (): number => {
    const part = readdirSync(at('killed')).find((name) => name.endsWith('.edge-part'));
    return part === undefined ? 0 : statSync(at('killed', part)).size;
  };

  const killed = fixture.start(t, ['push', ...words], '', await narrowWay(t));
  await until('a part', () => partBytes() > 10_000_000);
  killed.process.kill('SIGKILL');
  await killed.ended;
  const partOfKilled = partBytes();
  const left = fixture.start(t, ['push', ...words], '', await narrowWay(t));
  await until('more of it', () => partBytes() > partOfKilled + 10_000_000);
  const { status, stderr } = await left.interrupt();
  const ended = await fixture.edge('-o', 'json', 'push', ...words);

  t.is(status, 130);
  t.regex(
    stderr,
    /^edge: 0 of 1 done, 1 not reached to the end, [^\n]+\nedge: left: the same again goes on where it stopped\n$/u,
  );
  t.true((fixture.machines(ended)[0]?.files[0]?.went_on_at ?? 0) > partOfKilled - 2_097_152 + 5_000_000);
  t.is(fixture.machines(ended)[0]?.files[0]?.sha256, sha256(content));
  t.true(readFileSync(at('killed', 'huge')).equals(content));
});

test.serial('files come from many machines into a directory each, and go on where they stopped', async (t) => {
  const content = source('app.log', LARGE_BYTES);
  mkdirSync(at('logs', 'web-1'), { recursive: true });
  writeFileSync(at('logs', 'web-1', '.app.log.edge-part'), content.subarray(0, 9_000_000));
  writeFileSync(at('logs', 'web-1', 'app.log'), 'old');

  const words = ['-o', 'json', '-l', `tier:${at('app.log')}`, '--from', at('app.conf'), at('logs')];
  const [first, again] = [await fixture.pull(...words), await fixture.pull(...words)];

  const ends = (ended: typeof first) =>
    fixture
      .machines(ended)
      .map(({ name, files }) => [
        name,
        ...files.map(({ went_on_at: wentOnAt, was_there: wasThere }) => (wasThere ? 'there' : wentOnAt)),
      ]);
  t.deepEqual([first.status, again.status], [0, 0], first.stderr + again.stderr);
  t.deepEqual(ends(first), [
    ['db-1', 0, 0],
    ['web-1', 9_000_000 - 2_097_152, 0],
    ['web-2', 0, 0],
  ]);
  t.deepEqual(
    ends(again),
    ['db-1', 'web-1', 'web-2'].map((name) => [name, 'there', 'there']),
  );
  for (const name of ['db-1', 'web-1', 'web-2']) {
    t.deepEqual(readdirSync(at('logs', name)).toSorted(), ['app.conf', 'app.log']);
    t.true(readFileSync(at('logs', name, 'app.log')).equals(content), name);
  }
});

test.serial('machines are meant by groups as by labels, and what both leave out stays out', async (t) => {
  source('grouped', 10);
  t.is((await fixture.edge('group', 'create', 'web', '-l', 'tier=web', '-s', 'healthy')).status, 0);

  const names = async (...words: string[]) =>
    fixture
      .machines(await fixture.pull('-o', 'json', ...words, '--from', at('grouped'), at('by group')))
      .map(({ name }) => name);

  t.deepEqual(await names('--in', 'web'), ['web-1', 'web-2']);
  t.deepEqual(await names('--in', 'web', '-l', 'tier'), ['web-1', 'web-2']);
  t.deepEqual(await names('-c', 'fl*', '-l', 'tier!=web'), ['db-1']);
  t.is((await fixture.pull('--in', 'web', '-s', 'unhealthy', '--from', at('grouped'))).status, 4);
});

test.serial(`somebody who is not let in, or whom nobody knows, is told how to change that`, async (t) => {
  const { status, stderr } = await fixture.edge(
    'push',
    at('grouped'),
    '-u',
    'stranger',
    ...fixture.login.slice(2),
    '-n',
    `db-1:${at('x')}`,
  );

  t.is(status, 6);
  t.is(
    stderr.split('\n')[0],
    'edge: db-1: stranger may not log in there with these keys: edge sshuser add db-1 stranger -k @~/.ssh/id_ed25519.pub',
  );
});
