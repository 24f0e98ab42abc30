/** Who is asked, how often, and what is remembered. */
import test from 'ava';
import {
  createClusterAdmission,
  rememberingAdmission,
  shareCluster,
  type Admitted,
} from '../../../../../transport/vpn/relay/admission.ts';

test('a member is asked for once in some seconds, an unknown key each time, and a forgotten key at once', async (t) => {
  const asked: string[] = [];
  const admission = createClusterAdmission(async (key) => {
    asked.push(key);
    return key === 'member' ? ['one'] : [];
  });

  for (const key of ['member', 'member', 'unknown', 'unknown']) await admission.admit(key, '');
  admission.forget('member');
  const admitted = await admission.admit('member', '');

  t.deepEqual(asked, ['member', 'unknown', 'unknown', 'member']);
  t.deepEqual(admitted, { clusters: new Set(['one']) });
});

test('a key that is forgotten while it is asked for is asked for again: the first answer may be of before', async (t) => {
  const answers: ((admitted: Admitted | null) => void)[] = [];
  const admission = rememberingAdmission(
    () =>
      new Promise((resolve) => {
        answers.push(resolve);
      }),
  );

  const admitted = admission.admit('key', '');
  admission.forget('key');
  answers[0]?.({ clusters: new Set(['old']) });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  answers[1]?.(null);

  t.is(await admitted, null);
  t.is(answers.length, 2);
});

test('what could not be told is not remembered', async (t) => {
  let isAway = true;
  const admission = rememberingAdmission(async () => (isAway ? Promise.reject(new Error('away')) : { clusters: null }));

  await t.throwsAsync(admission.admit('key', ''));
  isAway = false;

  t.deepEqual(await admission.admit('key', ''), { clusters: null });
});

test('two keys share a cluster, or one of them is of no known cluster', (t) => {
  const of = (...names: readonly string[]): Admitted => ({ clusters: new Set(names) });

  t.deepEqual(
    [
      shareCluster(of('a'), of('a')),
      shareCluster(of('a'), of('b')),
      shareCluster(of('a', 'b', 'c'), of('c')),
      shareCluster(of('a'), { clusters: null }),
      shareCluster(of(), of('a')),
    ],
    [true, false, true, true, false],
  );
});
