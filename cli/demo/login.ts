/** Who may log in to the demo's machines: one user with a key of the demo's own, so that an account needs none. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Api } from '../service/client.ts';
import { Problem } from '../problem.ts';
import { givenKey } from '../names/ssh-names.ts';
import { DEMO_CLUSTER } from './fleet.ts';
import type { DemoHome } from './home.ts';

/** Under which name one logs in. The agents run it as whoever started the demo, unless this machine has such a user. */
export const DEMO_USER = 'demo';

/** How one logs in. */
export interface DemoLogin {
  /** The private key, which has no passphrase. */
  readonly keyFile: string;
}

/**
 * Makes the key once, and sees that it opens each machine of the demo. Null where there is no ssh-keygen: then there is
 * no ssh to log in with either.
 */
export async function allowLogin(home: DemoHome, api: Api): Promise<DemoLogin | null> {
  const keyFile = home.path('ssh-key');
  if (!existsSync(keyFile) && !hasMade(keyFile)) return null;
  const key = givenKey(`@${keyFile}.pub`, 'npm run demo');
  const { data: nodes } = await api.list_nodes.query({ cluster_name: DEMO_CLUSTER });
  for (const { id: node_id } of nodes) await allowOn(api, node_id, key);
  return { keyFile };
}

function hasMade(keyFile: string): boolean {
  const { error, status, stderr } = spawnSync(
    'ssh-keygen',
    ['-q', '-t', 'ed25519', '-N', '', '-C', 'demo', '-f', keyFile],
    { encoding: 'utf8' },
  );
  const problem: NodeJS.ErrnoException | undefined = error;
  if (problem?.code === 'ENOENT') return false;
  if (status === 0) return true;
  throw new Problem(`ssh-keygen makes no ${keyFile}: ${problem?.message ?? stderr.trim()}`);
}

/** One that knows another key is of a directory whose key was removed. */
async function allowOn(api: Api, node_id: string, key: ReturnType<typeof givenKey>): Promise<void> {
  const { data } = await api.list_ssh_usernames.query({ username: DEMO_USER, node_id__in: [node_id] });
  for (const { id } of data) {
    const { public_keys: keys } = await api.get_ssh_username.query({ id });
    if (keys?.some(({ public_key }) => blobOf(public_key) === blobOf(key.public_key)) === true) return;
    await api.delete_ssh_username.mutate({ id });
  }
  await api.create_ssh_username.mutate({ node_id, username: DEMO_USER, public_keys: [key] });
}

/** The key itself, without the name of its type before it and the comment behind it. */
function blobOf(line: string): string {
  return line.split(' ')[1] ?? '';
}
