/** SSH at a node whose database does not say what it stored. */
import test from 'ava';
import { v7 } from 'uuid';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Committer } from '../../../supervisors/ports.ts';
import type { Write } from '../../../actors/writes.ts';
import type { NodeId, SessionId } from '../../../transport/protocol/ids.ts';
import { newKey } from '../../support/ssh-keys.ts';
import { until } from '../../support/until.ts';
import { must, startSupervisors, type SupervisorsFixture } from './fixture.ts';

/** Commits whose answer is lost: the first of a kind is stored, or not, and nobody is told which. */
function losing(real: Committer, kind: Write['kind'], isStored: boolean): Committer {
  let lost = false;
  return {
    ready: () => real.ready(),
    async commit(lease, changes) {
      if (lost || !changes.some(({ write }) => write.kind === kind)) return real.commit(lease, changes);
      lost = true;
      if (isStored) await real.commit(lease, changes);
      throw new DatabaseUnavailable('the answer was lost');
    },
  };
}

async function ada(
  fixture: SupervisorsFixture,
): Promise<{ readonly node: NodeId; readonly id: string; readonly show: (attempt: number) => void }> {
  const {
    nodes: [node = '' as NodeId],
  } = await fixture.plant(1);
  const key = newKey();
  const id = v7();
  must(
    await fixture.tree.ask((replyTo) => ({
      to: { kind: 'node', id: node },
      message: {
        type: 'create-ssh-username',
        replyTo,
        username: {
          id,
          username: 'ada',
          passwordHash: null,
          keys: [{ id: v7(), keyName: 'k', line: key.line, fingerprint: key.fingerprint }],
        },
        idempotency: null,
      },
    })),
  );
  fixture.connect(node, 1);
  return {
    node,
    id,
    show: (attempt) =>
      void fixture.tree.directory.tell({
        to: { kind: 'node', id: node },
        message: {
          type: 'ssh-attempted',
          session: 1 as SessionId,
          attempt,
          username: 'ada',
          credential: { method: 'public_key', blob: key.blob, signature: 'verified' },
        },
      }),
  };
}

const verdictsOf = (fixture: SupervisorsFixture) =>
  fixture.sessions.frames.flatMap(({ frame }) =>
    frame.type === 'ssh-verdict' ? [[frame.attempt, frame.verdict.accepted]] : [],
  );
const endedAt = (fixture: SupervisorsFixture) =>
  fixture.sessions.frames.flatMap(({ frame }) => (frame.type === 'end-ssh' ? frame.ssh_username_ids : []));

for (const isStored of [true, false]) {
  test(`a deletion that was ${isStored ? '' : 'not '}stored, of which nobody was told, ${isStored ? 'ends what it opened' : 'ends nothing'} (E5)`, async (t) => {
    const fixture = await startSupervisors(t, { committer: (real) => losing(real, 'ssh-username-deleted', isStored) });
    const { node, id, show } = await ada(fixture);
    show(1);
    await until('the login', () => verdictsOf(fixture).length === 1);

    const asked = await fixture.tree.ask((replyTo) => ({
      to: { kind: 'node', id: node },
      message: { type: 'delete-ssh-username', replyTo, id },
    }));
    show(2);
    await until('the next verdict', () => verdictsOf(fixture).length === 2);
    if (isStored) await until('its end', () => endedAt(fixture).length > 0);

    t.is(asked.ok ? 'ok' : asked.refusal.code, 'service_unavailable');
    t.deepEqual(endedAt(fixture), isStored ? [id] : []);
    t.deepEqual(verdictsOf(fixture), [
      [1, true],
      [2, !isStored],
    ]);
  });

  test(`a login of which nobody knows whether it was stored, and that was ${isStored ? '' : 'not '}stored, is decided again on the rows`, async (t) => {
    const fixture = await startSupervisors(t, { committer: (real) => losing(real, 'ssh-verified', isStored) });
    const { node, show } = await ada(fixture);

    show(1);
    await until('its verdict', () => verdictsOf(fixture).length === 1);

    t.deepEqual(verdictsOf(fixture), [[1, true]]);
    t.deepEqual(
      (await fixture.eventsOf(node)).filter((type) => type === 'edge.ssh_username.verified').length,
      isStored ? 2 : 1,
      'told at least once',
    );
  });
}
