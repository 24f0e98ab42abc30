/** A whole admin and agents that say what a test makes them say, for tests of SSH logins. */
import { prepareHolds } from '../../chaos/commit-hold.ts';
import { Client } from 'pg';
import type { AdminFrame } from '../../../transport/protocol/frames.ts';
import type { SshCredential, SshVerdict } from '../../../transport/protocol/ssh.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { rawAgent, type RawAgent, type RawSession } from '../../support/fleet/raw-agent.ts';
import type { Scope } from '../../support/scope.ts';
import { newKey, type TestKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';
import { startFleet, type Fleet } from './fleet.ts';

/** An agent's session, and what can be tried on it. */
export interface SshSession extends RawSession {
  readonly node: string;
  /** Shows a credential and answers the number of the attempt. */
  show(username: string, credential: SshCredential, attempt?: number): number;
  /** The verdict of an attempt, once it is there. */
  verdictOf(attempt: number): Promise<SshVerdict>;
  /** How many verdicts there are. */
  verdicts(): number;
  /** Shows it, and answers its verdict. */
  attempt(username: string, credential: SshCredential): Promise<SshVerdict>;
  /** What was to be ended so far. */
  ended(): { readonly usernames: readonly string[]; readonly keys: readonly string[] };
}

/** A node whose agent a test plays. */
export interface SshNode {
  readonly id: string;
  connect(): Promise<SshSession>;
}

/** An admin with such nodes. */
export interface SshFixture extends Omit<Fleet, 'node'> {
  /** Enrols one more. */
  node(): Promise<SshNode>;
  /** A connected node on which `ada` has this many keys, and a password if given. */
  ada(more?: { readonly keys?: number; readonly password?: string }): Promise<{
    readonly node: SshNode;
    readonly shown: readonly TestKey[];
    /** The first of them. */
    readonly key: TestKey;
    readonly ada: { readonly id: string; readonly keys: readonly string[] };
    /** The id of the first key. */
    readonly publicKey: string;
    readonly session: SshSession;
  }>;
  /** Makes a username; answers its id and those of its keys. */
  username(
    node: string,
    username: string,
    more?: { readonly password?: string; readonly keys?: readonly TestKey[] },
  ): Promise<{ readonly id: string; readonly keys: readonly string[] }>;
  rows<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Data of the events of logins at a node, in order of commit. */
  logins(node: string): Promise<readonly LoginEvent[]>;
}

/** `data` of an event of a login. */
export interface LoginEvent {
  readonly ssh_username_id: string | null;
  readonly node_id: string;
  readonly username: string;
  readonly cluster_name: string | null;
  readonly auth_method: string;
  readonly result: string;
  readonly verified_at: string;
}

/** Starts it with a cluster named `one`. */
export async function startSshAdmin(t: Scope, env: Readonly<Record<string, string>> = {}): Promise<SshFixture> {
  const fleet = await startFleet(t, env);
  const { admin, request } = fleet;
  await request('POST', '/clusters', { name: 'one' });
  await prepareHolds(admin.database);
  const client = new Client({ ...admin.database });
  await client.connect();
  t.teardown(() => client.end());
  const rows = async <R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> =>
    (await client.query<R>(text, [...values])).rows;

  const newNode = async (): Promise<SshNode> => {
    const agent = rawAgent(t, () => admin.url, await fleet.node('one'));
    return { id: agent.node_id, connect: () => connect(agent) };
  };
  const username: SshFixture['username'] = async (node, name, { password, keys = [] } = {}) => {
    const { status, data, error } = await request('POST', `/nodes/${node}/ssh_usernames`, {
      username: name,
      ...(password !== undefined && { password }),
      public_keys: keys.map(({ line }, index) => ({ key_name: `key ${index}`, public_key: line })),
    });
    if (status !== 201) throw new Error(`it answered ${status}: ${JSON.stringify(error)}`);
    return { id: String(data['id']), keys: (data['public_keys'] as { readonly id: string }[]).map(({ id }) => id) };
  };

  return {
    ...fleet,
    rows,
    logins: async (node) =>
      (
        await rows<{ data: LoginEvent }>(
          `select data from event where type = 'edge.ssh_username.verified' and subject = $1 order by txid, seq`,
          [node],
        )
      ).map((row) => row.data),
    node: newNode,
    async ada({ keys = 1, password } = {}) {
      const node = await newNode();
      const shown = Array.from({ length: keys }, () => newKey());
      const ada = await username(node.id, 'ada', { keys: shown, ...(password !== undefined && { password }) });
      return {
        node,
        shown,
        key: shown[0] ?? newKey(),
        ada,
        publicKey: ada.keys[0] ?? '',
        session: await node.connect(),
      };
    },
    username,
  };
}

/** A key with a signature that the agent found right, unless said otherwise. */
export function keyShown({ blob }: TestKey, signature: 'none' | 'verified' | 'wrong' = 'verified'): SshCredential {
  return { method: 'public_key', blob, signature };
}

/** A password. */
export function passwordShown(password: string): SshCredential {
  return { method: 'password', password };
}

async function connect(agent: RawAgent): Promise<SshSession> {
  const session = await agent.connect({ protocol: PROTOCOL_VERSION });
  let last = 0;
  const framesOf = <T extends AdminFrame['type']>(type: T) =>
    session.frames.filter((frame): frame is Extract<AdminFrame, { type: T }> => frame.type === type);
  const show: SshSession['show'] = (username, credential, attempt = last + 1) => {
    last = Math.max(last, attempt);
    session.send({ type: 'verify-ssh', attempt, username, credential });
    return attempt;
  };
  const verdictOf: SshSession['verdictOf'] = async (attempt) =>
    (
      await until(`the verdict of attempt ${attempt}`, () =>
        framesOf('ssh-verdict').find((frame) => frame.attempt === attempt),
      )
    ).verdict;
  return {
    ...session,
    node: agent.node_id,
    show,
    verdictOf,
    verdicts: () => framesOf('ssh-verdict').length,
    attempt: (username, credential) => verdictOf(show(username, credential)),
    ended: () => ({
      usernames: framesOf('end-ssh').flatMap((frame) => frame.ssh_username_ids),
      keys: framesOf('end-ssh').flatMap((frame) => frame.ssh_public_key_ids),
    }),
  };
}
