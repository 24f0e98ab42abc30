/** python-tuf reads what we sign: an implementation that shares nothing with tuf-js. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '../../../cli/service/client.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { planOf } from '../../../cli/release/releases.ts';
import { signRoot, VALIDITY } from '../../../cli/release/signing.ts';
import { ADMIN_KEYS, startTestAdmin } from '../../support/admin.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { peerPath } from '../../support/run/peers.ts';
import { createReleases } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('tuf');

/** Prints a target; `prefixed`: asked for with its hash in front of its name, as the specification has it. */
const CLIENT = `
import sys
from tuf.ngclient import Updater, UpdaterConfig
work, url, target, prefixed = sys.argv[1:]
config = UpdaterConfig(prefix_targets_with_hash=prefixed == 'prefixed')
updater = Updater(metadata_dir=work, metadata_base_url=url + '/releases/metadata/', target_dir=work,
  target_base_url=url + '/releases/targets/', config=config, bootstrap=open(work + '/first.json', 'rb').read())
updater.refresh()
print(open(updater.download_target(updater.get_targetinfo(target))).read())
`;

test('python-tuf reads a channel from an admin, by both names of it, and over a change of the root', async (t) => {
  const releases = await createReleases(temporaryDirectory(t), { rootKeys: 3, threshold: 2 });
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  const { url } = await startTestAdmin(t);
  const connection = { url, key: ADMIN_KEYS.API_KEY };
  const publish = () => publishRepository(releases.repository, { api: createClient(connection), connection });
  const python = await peerPath('tuf');
  const work = join(temporaryDirectory(t), 'machine');
  mkdirSync(work);
  writeFileSync(join(work, 'first.json'), releases.root);
  const read = async (names: 'plain' | 'prefixed') => {
    const words = ['-c', CLIENT, work, url, 'channels/stable/linux-x64.json', names];
    return JSON.parse((await promisify(execFile)(python, words)).stdout) as { readonly version: string };
  };

  await publish();
  const first = await read('plain');
  releases.repository.writeRoot(
    signRoot(releases.root, planOf(releases.keys, 2), releases.keys, { nowMs: Date.now(), validity: VALIDITY }),
  );
  await releases.add({ version: '0.3.0' });
  await releases.promote('0.3.0');
  await publish();
  const second = await read('prefixed');

  t.deepEqual([first.version, second.version], ['0.2.0', '0.3.0']);
});
