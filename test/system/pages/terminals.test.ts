/** The client that docs/terminals.md shows, as somebody would copy it, against a real node. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { openTerminal, terminalsByKey } from '../../support/api/terminal-client.ts';
import { scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const PAGE = join(import.meta.dirname, '../../../docs/terminals.md');
/** Timeout of one run of the client, in ms. */
const RUN_MS_MAX = 60_000;

const PASSWORD = 'a-password-of-a-terminal';

/** Its output with its status, when this is typed. */
async function run(t: ExecutionContext, words: readonly string[], env: NodeJS.ProcessEnv, typed: string) {
  const [, script = ''] = /```js\n([^]*?)```/u.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const path = join(temporaryDirectory(t), 'terminal.mjs');
  writeFileSync(path, script);
  const child = spawn(process.execPath, [path, ...words], {
    env: { ...process.env, ...env },
    timeout: scaled(RUN_MS_MAX),
  });
  child.stdin.end(typed);
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { stdout, stderr, status };
}

test('the client of the page opens a shell, tells its status, and says why it got none', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const { id } = await fleet.node();
  await fleet.rest.post(`/nodes/${id}/ssh_usernames`, { username: 'ops', password: PASSWORD });
  const env = { EDGE_URL: fleet.admin().url, EDGE_API_KEY: FLEET_KEYS.API_KEY, PASSWORD };

  const well = await run(t, [id, 'ops'], env, 'echo "sum $((40 + 2))"; exit 3\n');
  const wrong = await run(t, [id, 'ops'], { ...env, PASSWORD: 'another one' }, '');
  const keyless = await run(t, [id, 'ops'], { ...env, EDGE_API_KEY: 'none' }, '');

  t.regex(well.stdout, /^sum 42\r$/mu);
  t.is(well.status, 3, well.stderr);
  t.regex(wrong.stderr, /does not let ops in with this password/u);
  t.is(wrong.status, 255);
  t.regex(keyless.stderr, /^no terminal at http:.*is the key right/u);
  t.is(keyless.status, 255);
});

test('a key that is registered for a terminal opens no other one, which would end with it', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const { id } = await fleet.node();
  await fleet.rest.post(`/nodes/${id}/ssh_usernames`, { username: 'ops' });
  const open = await terminalsByKey(t, fleet.admin().url, { node: id, username: 'ops' });

  const first = await open();
  const second = await open();
  second.socket.close();
  first.write('shell', 'echo sum $((40 + 2))\n');
  await until('the first to answer', () => first.shown().includes('sum 42'));

  t.like(second.said.at(-1), { type: 'over', reason: 'refused' });
  t.is((await fleet.rest.get<readonly unknown[]>('/ssh_public_keys?username=ops')).length, 1);
});

test('an admin that stops says so, and takes back what is there of a file', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const { id } = await fleet.node();
  await fleet.rest.post(`/nodes/${id}/ssh_usernames`, { username: 'ops', password: PASSWORD });
  const directory = temporaryDirectory(t);
  const { socket, said, say, write } = await openTerminal(t, fleet.admin().url, {
    node: id,
    username: 'ops',
    password: PASSWORD,
  });
  say({ type: 'upload', path: join(directory, 'whole'), replaces: false });
  write('file', Buffer.alloc(1_000));
  await until('a part of the file', () => readdirSync(directory).length === 1);

  const closed = once(socket, 'close') as Promise<[number]>;
  fleet.admin().program.terminate();
  const [code] = await closed;

  t.deepEqual(said.at(-1), { type: 'over', reason: 'stopping', message: 'This admin is shutting down.' });
  t.is(code, 1_001);
  await fleet.admin().program.ended();
  t.deepEqual(readdirSync(directory), []);
});
