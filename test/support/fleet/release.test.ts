/** Tests of earlier releases are left out only where there is no history to take them from. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'ava';
import { temporaryDirectory } from '../temporary-directory.ts';
import { COMMIT_BEFORE, whyLeftOut } from './release.ts';

const UNKNOWN = '0123456789abcdef0123456789abcdef01234567';

const NAMED = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];

/** A repository with so many commits. */
function repository(directory: string, commits: number): string {
  execFileSync('git', ['init', '--quiet', directory]);
  for (let made = 0; made < commits; made += 1)
    execFileSync('git', ['-C', directory, ...NAMED, 'commit', '--quiet', '--allow-empty', '--message', `${made}`]);
  return directory;
}

test('a commit that is there is tested, and so is one that a whole history lacks', (t) => {
  const whole = repository(join(temporaryDirectory(t), 'whole'), 3);

  t.is(whyLeftOut(whole, COMMIT_BEFORE), null);
  t.is(whyLeftOut(whole, UNKNOWN), null);
});

test('without a history the tests of earlier releases are left out, and it is said', (t) => {
  const directory = temporaryDirectory(t);
  const whole = repository(join(directory, 'whole'), 3);
  const shallow = join(directory, 'shallow');
  execFileSync('git', ['clone', '--quiet', '--depth', '2', `file://${whole}`, shallow]);
  const single = repository(join(directory, 'single'), 1);

  t.is(whyLeftOut(shallow, COMMIT_BEFORE), null);
  for (const [place, commit] of [
    [shallow, UNKNOWN],
    [single, COMMIT_BEFORE],
    [temporaryDirectory(t), UNKNOWN],
  ] as const)
    t.is(whyLeftOut(place, commit), `this clone has no history with ${commit} (git fetch --unshallow)`);
});
