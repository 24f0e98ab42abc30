/** What a run of the tests leaves behind when it is killed: nothing. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isInOwnNamespaces, STARTUP_FILES } from './own-namespaces.ts';
import { peerTest } from './peer-test.ts';
import { until } from '../until.ts';

const test = await peerTest('root');

const RUN = new URL('run-to-kill.ts', import.meta.url).pathname;

/** Processes whose command line begins with this name. */
function processesOf(name: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(name);
      } catch {
        return false; // it ended meanwhile
      }
    });
}

const interfaceIsThere = (name: string): boolean => readFileSync('/proc/net/dev', 'utf8').includes(`${name}:`);

test('a run that is killed leaves no process, network, interface or file', async (t) => {
  const name = `t${randomBytes(4).toString('hex')}`;
  const { EDGE_TEST_NAMESPACES: _inside, ...env } = process.env; // this run may have namespaces itself
  const run = spawn(process.execPath, [RUN, name], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => {
    run.kill('SIGKILL');
  });
  const lines = createInterface({ input: run.stdout })[Symbol.asyncIterator]();
  const directory = String((await lines.next()).value);
  await until('the process', () => processesOf(name).length === 1);
  t.true(interfaceIsThere(name));

  run.kill('SIGKILL');

  await until('the end of its process', () => processesOf(name).length === 0);
  await until('the end of its interface', () => !interfaceIsThere(name));
  t.false(existsSync(directory));
  t.false(existsSync(`/run/netns/${name}`));
  t.false(Object.keys(networkInterfaces()).includes(name));
});

test('shells of a run read nothing of what the account keeps for its own', (t) => {
  const files = STARTUP_FILES.map((name) => join(userInfo().homedir, name)).filter((path) => existsSync(path));

  const read = isInOwnNamespaces() ? files.filter((path) => readFileSync(path, 'utf8') !== '') : [];

  t.deepEqual(read, []);
});
