/** Who gets a name that another process may have. */
import test from 'ava';
import {
  NameInUse,
  NAME_WATCHED_MS_MAX,
  takeName,
  type NamePorts,
} from '../../../../persistence/admins/instance-lock.ts';
import type { NameHolder } from '../../../../persistence/admins/registration.ts';

/** Between two looks, in ms, by the clock of these tests. */
const LOOK_MS = 500;

/** What a start meets, look by look; the last look lasts. `from`: whom it took the name from. */
function name(looks: readonly { readonly isLocked: boolean; readonly holder: NameHolder | null }[]) {
  let look = 0;
  const from: (NameHolder | null)[] = [];
  const now = () => looks[Math.min(look, looks.length - 1)]!;
  const ports: NamePorts = {
    name: 'a',
    tryLock: () => Promise.resolve(now().isLocked),
    holder: () => {
      const { holder } = now();
      look += 1;
      return Promise.resolve(holder);
    },
    register: (holder) => {
      from.push(holder);
      return Promise.resolve('id');
    },
    monotonicMs: () => look * LOOK_MS,
  };
  return { ports, from, looks: () => look };
}

const holder = (checkedInMs: number, instanceId: string | null = 'before'): NameHolder => ({
  instanceId,
  checkedInMs,
  startedAtMs: Date.UTC(2026, 0, 1),
});

test('a name that nobody has, or whose process was killed a moment ago, is had at the first look', async (t) => {
  for (const who of [null, holder(1)]) {
    const { ports, from, looks } = name([{ isLocked: true, holder: who }]);

    t.is(await takeName(ports), 'id');

    t.deepEqual([from, looks()], [[who], 1]);
  }
});

test('a process that is frozen has the lock, and loses the name once nothing was heard of it for long enough', async (t) => {
  const { ports, from, looks } = name([{ isLocked: false, holder: holder(1) }]);

  await takeName(ports);

  t.deepEqual(from, [holder(1)]);
  t.true(looks() * LOOK_MS > 3_000 && looks() * LOOK_MS <= NAME_WATCHED_MS_MAX);
});

test('a process that checks in keeps its name, and the other one says since when it runs', async (t) => {
  const { ports, from } = name(Array.from({ length: 20 }, (_none, at) => ({ isLocked: false, holder: holder(at) })));

  await t.throwsAsync(takeName(ports), {
    instanceOf: NameInUse,
    message:
      'ADMIN_NAME "a" is that of an admin that runs since 2026-01-01T00:00:00.000Z: give each admin a name of its own, or stop that one first.',
  });

  t.deepEqual(from, []);
});

test('a process that is being stopped is waited for', async (t) => {
  const { ports, from } = name([
    { isLocked: false, holder: holder(1) },
    { isLocked: false, holder: holder(2) },
    { isLocked: false, holder: null },
    { isLocked: true, holder: null },
  ]);

  await takeName(ports);

  t.deepEqual(from, [null]);
});

test('of an older release, which takes no lock, only check-ins tell that it runs', async (t) => {
  const runs = name(Array.from({ length: 20 }, (_none, at) => ({ isLocked: true, holder: holder(at, null) })));
  const dead = name([{ isLocked: true, holder: holder(1, null) }]);

  await t.throwsAsync(takeName(runs.ports), { instanceOf: NameInUse });
  await takeName(dead.ports);

  t.deepEqual(dead.from, [holder(1, null)]);
});

test('whoever was slower looks again who has the name now', async (t) => {
  const { ports, looks } = name([{ isLocked: true, holder: null }]);
  const answers = [null, 'id'];

  t.is(await takeName({ ...ports, register: () => Promise.resolve(answers.shift() ?? null) }), 'id');

  t.is(looks(), 2);
});
