/** SSH at a node whose database does not say what it stored. */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import type { Write } from '../../../actors/writes.ts';
import { session } from '../../support/actors.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';
import { codeOf } from './actors-fixture.ts';
import { FaultyCommitter, type Fate } from './faults.ts';
import { startOwner } from './fixture.ts';

/** A live node with a username, and a database that loses the answer to the first write of this kind. */
async function openFixture(t: ExecutionContext, kind: Write['kind'], fate: Fate) {
  const committer = new FaultyCommitter();
  const fixture = await startOwner(t, { committer: committer.over });
  const { node } = await fixture.createLiveNode();
  const key = newKey();
  const id = v7();
  const keys = [{ id: v7(), keyName: 'k', line: key.line, fingerprint: key.fingerprint }];
  await fixture.must('node', node, {
    type: 'create-ssh-username',
    username: { id, username: 'ada', passwordHash: null, keys },
    idempotency: null,
  });
  committer.loseNext(fate, kind);
  const frames = () => fixture.sessions.frames.map(({ frame }) => frame);
  const verdicts = () =>
    frames().flatMap((frame) => (frame.type === 'ssh-verdict' ? [[frame.attempt, frame.verdict.accepted]] : []));
  return {
    fixture,
    node,
    id,
    verdicts,
    ended: () => frames().flatMap((frame) => (frame.type === 'end-ssh' ? frame.ssh_username_ids : [])),
    /** Shows the key, and resolves when there is a verdict. */
    attempt: async (number: number) => {
      fixture.tell('node', node, {
        type: 'ssh-attempted',
        session: session(1),
        attempt: number,
        username: 'ada',
        credential: { method: 'public_key', blob: key.blob, signature: 'verified' },
      });
      await until('its verdict', () => verdicts().length === number);
    },
  };
}

for (const fate of ['stored', 'not stored'] as const) {
  const isStored = fate === 'stored';
  test(`a deletion that was ${fate}, of which nobody was told, ends ${isStored ? 'what it opened' : 'nothing'} (E5)`, async (t) => {
    const { fixture, node, id, attempt, verdicts, ended } = await openFixture(t, 'ssh-username-deleted', fate);
    await attempt(1);

    const asked = await fixture.ask('node', node, { type: 'delete-ssh-username', id });
    await attempt(2);
    if (isStored) await until('its end', () => ended().length > 0);

    t.is(codeOf(asked), 'service_unavailable');
    t.deepEqual(ended(), isStored ? [id] : []);
    t.deepEqual(verdicts(), [
      [1, true],
      [2, !isStored],
    ]);
  });

  test(`a login of which nobody knows whether it was stored, and that was ${fate}, is decided again on the rows`, async (t) => {
    const { fixture, node, attempt, verdicts } = await openFixture(t, 'ssh-verified', fate);

    await attempt(1);

    t.deepEqual(verdicts(), [[1, true]]);
    t.deepEqual(
      (await fixture.eventsOf(node)).filter((type) => type === 'edge.ssh_username.verified').length,
      isStored ? 2 : 1,
      'told at least once',
    );
  });
}
