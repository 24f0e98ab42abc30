/** How `edge push` and `edge pull` log in to machines that mean no good. */
import { connect, createServer, type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import ssh2 from 'ssh2';
import { createHostKey } from '../../../agent/access/ssh/host-key.ts';
import { Problem } from '../../../cli/problem.ts';
import { logIn } from '../../../cli/transfer/log-in.ts';
import type { Machine } from '../../../cli/transfer/machine.ts';
import { hostKeysPayload, sendPayload, slowKey } from '../../support/ssh/raw-payloads.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { asked, machine, type Played } from '../../unit/transport/terminals/fixture.ts';

/** Logs in to this machine by a proxy that leads nowhere else. */
async function loggedIn(t: ExecutionContext, played: Played): Promise<Machine> {
  const { port } = await machine(t, { hasFiles: true, ...played });
  const proxy = createServer((client) => {
    client
      .on('error', () => {})
      .once('data', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        const far = connect(port, '127.0.0.1').on('error', () => {});
        t.teardown(() => far.destroy());
        client.pipe(far).pipe(client);
      });
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => proxy.close());
  const key = ssh2.utils.parseKey(createHostKey());
  if (key instanceof Error) throw key;
  const names = { id: 'web-1', host: 'web-1.test', ownHost: 'web-1.test', name: 'web-1' };
  const { hostKey, username } = asked();
  return logIn(
    { ...names, sshPort: 22, status: 'healthy', sshProblem: null, hostKey },
    {
      proxy: {
        url: '',
        host: '127.0.0.1',
        port: (proxy.address() as AddressInfo).port,
        isTls: false,
        key: null,
        told: null,
      },
      login: { username, methods: [{ type: 'publickey', username, key }] },
      env: { HOME: temporaryDirectory(t) },
      signal: new AbortController().signal,
      say: () => {},
    },
  );
}

test('a machine that wants to compress, before the login or behind it, is not logged in to', async (t) => {
  for (const compress of ['zlib', 'zlib@openssh.com'] as const)
    await t.throwsAsync(loggedIn(t, { algorithms: { compress: [compress] } }), { instanceOf: Problem }, compress);
});

test('other keys of a machine are not read, however many it tells', async (t) => {
  const before = process.cpuUsage();
  const found = await loggedIn(t, {
    greeted(client) {
      client.once('ready', () => {
        for (let told = 0; told < 20; told += 1) sendPayload(client, hostKeysPayload(slowKey(8_600)));
      });
    },
  });
  await found.stat('/');
  const { user, system } = process.cpuUsage(before);
  found.close();

  t.true(user + system < 2_000_000, `${user + system} µs`);
});
