/** Machines that one key opens, and files that go to them and come from them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import type { Ended } from '../../../support/edge-program.ts';
import type { Fleet } from '../../../support/fleet.ts';
import type { AgentProgram } from '../../../support/fleet/agent-program.ts';
import { keyPair, publicKey } from '../../../support/ssh/openssh.ts';
import type { Scope } from '../../../support/scope.ts';
import { createReachFixture, USERNAME, type ReachFixture } from './fixture.ts';

/** A file of a machine, as `edge -o json push` and `pull` tell it. */
export interface MovedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly went_on_at: number;
  readonly was_there: boolean;
}

/** A machine, likewise. */
export interface MovedMachine {
  readonly node_id: string;
  readonly name: string;
  readonly status: string;
  readonly problem: string | null;
  readonly files: readonly MovedFile[];
}

/** What a test does. */
export interface TransferFixture extends ReachFixture {
  /** In the directory of the test. */
  at(...path: string[]): string;
  /** The private key. */
  readonly key: string;
  /** Words of a login. */
  readonly login: readonly string[];
  push(...words: string[]): Promise<Ended>;
  pull(...words: string[]): Promise<Ended>;
  /** Machines in the order of their names. */
  machines(ended: Ended): readonly MovedMachine[];
}

/** The fixture of a fleet whose machines are these. */
export async function createTransferFixture(
  scope: Scope,
  fleet: Fleet,
  agents: readonly AgentProgram[],
): Promise<TransferFixture> {
  const reach = await createReachFixture(scope, fleet);
  const at = (...path: string[]): string => join(reach.directory, ...path);
  mkdirSync(at('my keys'));
  const key = await keyPair(at('my keys', 'key'));
  for (const { node } of agents)
    await fleet.rest.post<NodeResource>(`/nodes/${node}/ssh_usernames`, {
      username: USERNAME,
      public_keys: [{ key_name: 'one', public_key: publicKey(key) }],
    });
  const login = ['-u', USERNAME, '-i', key];
  return {
    ...reach,
    at,
    key,
    login,
    push: (...words) => reach.edge('push', ...login, ...words),
    pull: (...words) => reach.edge('pull', ...login, ...words),
    machines: ({ stdout }) =>
      (JSON.parse(stdout) as readonly MovedMachine[]).toSorted((one, other) => one.name.localeCompare(other.name)),
  };
}
