/** How OpenSSH notices that a machine has gone, by `edge ssh` and by the configuration of `edge ssh-config`. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { nodeOptions, SERVER_ALIVE_SECONDS } from '../../../../cli/reach/openssh.ts';
import { sshConfigText } from '../../../../cli/reach/ssh-config.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const test = await peerTest('ssh');

const HOST = 'web-1.prod.edge.internal';

/** After which silence ssh would ask, in s, with these words. */
async function askedAfterS(...words: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)('ssh', ['-G', ...words, HOST]);
  return Number(/^serveraliveinterval (?<seconds>\d+)$/mu.exec(stdout)?.groups?.['seconds']);
}

test('ssh asks a machine that says nothing whether it is there, unless somebody says otherwise', async (t) => {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };
  const config = join(directory, 'ssh_config');
  writeFileSync(config, sshConfigText('edge.internal', env));
  const place = {
    id: 'a',
    host: HOST,
    sshPort: 40_022,
    ownHost: HOST,
    status: 'healthy',
    sshProblem: null,
    name: 'web-1',
    hostKey: null,
  } as const;
  const own = ['-o', 'ServerAliveInterval=3'];
  const by = { options: ['-F', 'none', ...nodeOptions(place, env, false)], config: ['-F', config] };

  t.deepEqual([await askedAfterS(...by.options), await askedAfterS(...own, ...by.options)], [SERVER_ALIVE_SECONDS, 3]);
  t.deepEqual([await askedAfterS(...by.config), await askedAfterS(...own, ...by.config)], [SERVER_ALIVE_SECONDS, 3]);
});
