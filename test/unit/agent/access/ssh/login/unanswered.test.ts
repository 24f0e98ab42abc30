/** Logins that no admin answered: when each is told of, and when again. */
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  openUnanswered,
  TOLD_AFTER_MS,
  TOLD_AGAIN_AFTER_MS,
} from '../../../../../../agent/access/ssh/login/unanswered.ts';
import { createFakeClock } from '../../../../../support/fake-clock.ts';
import { silentLog } from '../../../../../support/log.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';

function fixture(t: ExecutionContext) {
  const clock = createFakeClock();
  const logins = openUnanswered(join(temporaryDirectory(t), 'logins.json'), silentLog, {
    wallMs: () => clock.nowMs(),
    nowMs: () => clock.nowMs(),
  });
  return {
    clock,
    logins,
    usernames: (isNew = false) => logins.next(isNew).map(({ username, ms_ago: msAgo }) => [username, msAgo]),
  };
}

test('a login is told of on the session that lives once its verdict could not come any more, and on a new one at once', (t) => {
  const { clock, logins, usernames } = fixture(t);
  logins.add('ada', 'password');

  const early = usernames();
  clock.pass(TOLD_AFTER_MS);
  const told = [usernames(), usernames()];
  logins.add('bob', 'password');
  const anew = usernames(true);

  t.deepEqual(early, []);
  t.deepEqual(told, [[['ada', TOLD_AFTER_MS]], []]);
  t.deepEqual(anew, [
    ['ada', TOLD_AFTER_MS],
    ['bob', 0],
  ]);
});

test('a login whose telling nobody confirms is told of again, and one that is confirmed never', (t) => {
  const { clock, logins, usernames } = fixture(t);
  const id = logins.add('ada', 'password');
  logins.add('bob', 'password');
  clock.pass(TOLD_AFTER_MS);
  usernames();

  logins.remove([String(id)]);
  clock.pass(TOLD_AGAIN_AFTER_MS - 1);
  const early = usernames();
  clock.pass(1);

  t.deepEqual(early, []);
  t.deepEqual(usernames(), [['bob', TOLD_AFTER_MS + TOLD_AGAIN_AFTER_MS]]);
});
