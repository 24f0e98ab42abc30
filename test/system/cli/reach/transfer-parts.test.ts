/** What others put beside a file that is on its way, in a directory in which everybody may make files. */
import { chownSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { SshServerOptions } from '../../../../agent/access/ssh/server.ts';
import { localFiles } from '../../../../cli/transfer/local-files.ts';
import { Machine } from '../../../../cli/transfer/machine.ts';
import { pullFile } from '../../../../cli/transfer/pull.ts';
import { pushFile } from '../../../../cli/transfer/push.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { connectRaw, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const test = await peerTest('ssh-keygen');

/** An account that is neither root nor whoever runs the tests. */
const NOBODY = 65_534;

/** A machine with a file that is `new`. */
async function machineWithFile(t: ExecutionContext, options: Partial<SshServerOptions> = {}) {
  const { fixture, login } = await withRawAlice(t, options);
  const sock = connect(fixture.port, '127.0.0.1');
  const machine = await Machine.of(await connectRaw(t, fixture.port, { ...login, sock }), sock);
  t.teardown(() => machine.close());
  const at = (...names: string[]): string => join(fixture.directory, ...names);
  writeFileSync(at('file'), 'new');
  return { machine, at };
}

/** Pushes it to a machine on which `plant` was called with the path beside the target. */
async function pushed(
  t: ExecutionContext,
  plant: (part: string, directory: string) => void,
  options: Partial<SshServerOptions> = {},
) {
  const { machine, at } = await machineWithFile(t, options);
  const files = await localFiles([at('file')]);
  plant(at('.target.node.edge-part'), at());
  const target = { path: at('target'), isDirectory: false, node: 'node' };
  const ends = await Promise.all(files.map((file) => pushFile(machine, file, target, () => {})));
  return { ends, at };
}

test('a link beside the target is not followed', async (t) => {
  const { at } = await pushed(t, (part, directory) => {
    writeFileSync(join(directory, 'other'), 'of somebody');
    symlinkSync(join(directory, 'other'), part);
  });

  t.is(readFileSync(at('other'), 'utf8'), 'of somebody');
  t.is(readFileSync(at('target'), 'utf8'), 'new');
  t.is(readFileSync(at('file'), 'utf8'), 'new');
});

test('a file of somebody else beside the target does not become it, whatever is in it', async (t) => {
  if (process.getuid?.() !== 0) return t.log('only root makes files of others');
  for (const content of ['', 'new']) {
    const { ends, at } = await pushed(t, (part) => {
      writeFileSync(part, content);
      chownSync(part, NOBODY, NOBODY);
    });

    t.is(ends[0]?.wentOnAt, 0);
    t.is(readFileSync(at('target'), 'utf8'), 'new');
    t.is(statSync(at('target')).uid, 0);
  }
  return undefined;
});

test('a push goes on where it stopped, also where files of the shell print numbers and digests', async (t) => {
  const directory = temporaryDirectory(t);
  const shell = join(directory, 'talkative');
  const said = ['12345', 'a'.repeat(64)].join('\n');
  writeFileSync(shell, `#!/bin/sh\necho '${said}'\nexec /bin/sh "$@"\n`, { mode: 0o755 });
  const { username: name, uid, gid } = userInfo();

  const { ends, at } = await pushed(t, (part) => writeFileSync(part, 'new'), {
    accounts: async () => ({ name, uid, gid, home: directory, shell, isOther: false }),
  });

  t.is(ends[0]?.wentOnAt, 3);
  t.is(readFileSync(at('target'), 'utf8'), 'new');
});

test('a link beside what is pulled is not followed', async (t) => {
  const { machine, at } = await machineWithFile(t);
  mkdirSync(at('into'));
  writeFileSync(at('other'), 'of somebody');
  symlinkSync(at('other'), at('into', '.file.edge-part'));

  await pullFile(machine, at('file'), at('into'), { wanted: () => {}, moved: () => {} });

  t.is(readFileSync(at('other'), 'utf8'), 'of somebody');
  t.true(lstatSync(at('into', 'file')).isFile());
});
