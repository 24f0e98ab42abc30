/** Verdicts about logins: each is worth something for the one attempt that waits for it. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  ASKED_MAX,
  createAsking,
  SESSION_AWAITED_MS_MAX,
} from '../../../../../../agent/access/ssh/login/admin-verdicts.ts';
import type { SshVerdict } from '../../../../../../transport/protocol/ssh.ts';

const YES: SshVerdict = { accepted: true, grant: { ssh_username_id: randomUUID(), ssh_public_key_id: null } };
const NO: SshVerdict = { accepted: false };
const PASSWORD = { method: 'password', password: 'x' } as const;

/** What is kept for later, in order; a removed one has its place taken by null. */
function kept(all: (string | null)[] = []) {
  return {
    add: (username: string) => String(all.push(username) - 1),
    remove: (ids: readonly string[]) => {
      for (const id of ids) all[Number(id)] = null;
    },
  };
}

function fixture() {
  const asked: number[] = [];
  return {
    asked,
    asking: createAsking((attempt) => {
      asked.push(attempt);
      return true;
    }, kept()),
  };
}

test('a verdict that comes again, late, or before it was asked for lets nobody in', async (t) => {
  const { asking, asked } = fixture();
  for (const attempt of [1, 2, 3]) asking.verdict(attempt, YES); // nobody waits for them
  const first = asking.verify('ada', PASSWORD);
  asking.verdict(2, YES);
  asking.verdict(1, NO);
  t.deepEqual(await first, NO);

  asking.verdict(1, YES); // as if it were recorded and sent again
  const second = asking.verify('ada', PASSWORD);
  asking.verdict(1, YES);
  asking.verdict(2, NO);
  t.deepEqual(await second, NO);
  t.deepEqual(asked, [1, 2]);
});

test('of two who wait each hears his own', async (t) => {
  const { asking } = fixture();
  const both = [asking.verify('ada', PASSWORD), asking.verify('ada', PASSWORD)];

  asking.verdict(2, NO);
  asking.verdict(1, YES);

  t.deepEqual(await Promise.all(both), [YES, NO]);
});

test('where no admin can be asked for long, the answer is no', async (t) => {
  const beganMs = performance.now();

  t.is(await createAsking(() => false, kept()).verify('ada', PASSWORD), null);

  t.true(performance.now() - beganMs > SESSION_AWAITED_MS_MAX - 100);
});

test('the agent repeats a login request if the admin is away for a moment or its answer is lost with the session', async (t) => {
  let isLive = false;
  const asked: number[] = [];
  const asking = createAsking((attempt) => isLive && asked.push(attempt) > 0, kept());
  const first = asking.verify('ada', PASSWORD);
  isLive = true;
  asking.connected();
  const second = asking.verify('ada', PASSWORD);
  asking.connected();

  asking.verdict(1, YES);
  asking.verdict(2, NO);

  t.deepEqual(await Promise.all([first, second]), [YES, NO]);
  t.deepEqual(asked, [1, 2, 1, 2]);
});

test('where too many wait, the answer is no at once', async (t) => {
  const { asking } = fixture();
  const waiting = Array.from({ length: ASKED_MAX }, () => asking.verify('ada', PASSWORD));
  t.is(await asking.verify('ada', PASSWORD), null);
  for (let attempt = 1; attempt <= ASKED_MAX; attempt += 1) asking.verdict(attempt, NO);
  t.is((await Promise.all(waiting)).length, ASKED_MAX);
});

test('a login that nobody answered is kept to be told of, unless its answer comes after all; a question is not', async (t) => {
  const all: (string | null)[] = [];
  const asking = createAsking(() => false, kept(all));

  await Promise.all([
    asking.verify('ada', PASSWORD),
    asking.verify('bob', PASSWORD),
    asking.verify('eve', { method: 'public_key', blob: 'AAAA', signature: 'none' }),
  ]);
  asking.verdict(2, NO); // the admin had stored it, and only its answer was late

  t.deepEqual(all, ['ada', null]);
});
