/** Files of a machine whose SFTP server does not say how long they are, or says what cannot be. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import { Problem } from '../../../../cli/problem.ts';
import { localFiles } from '../../../../cli/transfer/local-files.ts';
import { Machine } from '../../../../cli/transfer/machine.ts';
import { pullFile } from '../../../../cli/transfer/pull.ts';
import { pushFile } from '../../../../cli/transfer/push.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { connectRaw, withRawAlice } from '../../../support/ssh/raw-ssh-client.ts';

const test = await peerTest('ssh-keygen');

/**
 * Runs the agent's own server, and has its attributes say another length, or none and no owner. Source:
 * draft-ietf-secsh-filexfer-02, 5: flags, then 8 bytes of size and 8 of owner and group.
 */
const ALTERING = `
const [length, program, ...words] = process.argv.slice(1);
const server = require('node:child_process').spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(server.stdin);
let waiting = Buffer.alloc(0);
server.stdout.on('data', (data) => {
  waiting = Buffer.concat([waiting, data]);
  while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32BE(0)) {
    let packet = waiting.subarray(0, 4 + waiting.readUInt32BE(0));
    waiting = waiting.subarray(packet.length);
    if (packet[4] === 105 && length !== 'none') packet.writeBigUInt64BE(BigInt(length), 13);
    else if (packet[4] === 105) {
      packet.writeUInt32BE(packet.readUInt32BE(9) & ~3, 9);
      packet = Buffer.concat([packet.subarray(0, 13), packet.subarray(29)]);
      packet.writeUInt32BE(packet.length - 4, 0);
    }
    process.stdout.write(packet);
  }
});
`;

/** A machine whose files are all as long as this, or of no length, and a directory of it. */
async function machineThatSays(t: ExecutionContext, length: string) {
  const { fixture, login } = await withRawAlice(t, {
    sftpCommand: (account) => [process.execPath, '-e', ALTERING, length, ...sftpCommand(account)],
  });
  const sock = connect(fixture.port, '127.0.0.1');
  const machine = await Machine.of(await connectRaw(t, fixture.port, { ...login, sock }), sock);
  t.teardown(() => machine.close());
  return { machine, at: (...path: string[]) => join(fixture.directory, ...path) };
}

for (const length of ['none', String(2 ** 60)])
  test(`a file whose length is told as ${length} is not pulled`, async (t) => {
    const { machine, at } = await machineThatSays(t, length);
    writeFileSync(at('file'), 'there');

    await t.throwsAsync(pullFile(machine, at('file'), at('into'), { wanted: () => {}, moved: () => {} }), {
      instanceOf: Problem,
      message: `the machine does not say how long ${at('file')} is`,
    });

    t.false(readdirSync(at()).includes('into'));
  });

test('where no length and no owner are told a file is pushed anew, whatever is there of it', async (t) => {
  const { machine, at } = await machineThatSays(t, 'none');
  writeFileSync(at('file'), 'new');
  const [file] = await localFiles([at('file')]);
  if (file === undefined) return t.fail();
  writeFileSync(at('target'), 'old');
  chmodSync(at('target'), 0o4750); // runs as its owner
  writeFileSync(at('.target.node.edge-part'), 'ne');

  const end = await pushFile(machine, file, { path: at('target'), isDirectory: false, node: 'node' }, () => {});

  t.like(end, { wentOnAt: 0, wasThere: false });
  t.is(readFileSync(at('target'), 'utf8'), 'new');
  return t.is(statSync(at('target')).mode & 0o7777, 0o750); // as its new one is not known to be the same
});
