/** Parts that are loaded with their first use. */
import test from 'ava';
import { latePart } from '../../../../transport/net/late-part.ts';
import { recordingLog } from '../../../support/log.ts';

test('a part is loaded once, with its first use', async (t) => {
  let loads = 0;
  const part = latePart(
    'one',
    async () => {
      loads += 1;
      return Promise.resolve({ is: 'there' });
    },
    recordingLog(),
  );
  t.is(loads, 0);

  t.deepEqual(await Promise.all([part(), part()]), [{ is: 'there' }, { is: 'there' }]);
  t.is(loads, 1);
});

test('a part whose files are gone is none, which is logged, and it is tried again for whoever asks next', async (t) => {
  const log = recordingLog();
  let isThere = false;
  const part = latePart(
    'two',
    async () => (isThere ? Promise.resolve('there') : Promise.reject(new Error('Cannot find module'))),
    log,
  );

  t.is(await part(), null);
  isThere = true;
  t.is(await part(), 'there');
  t.deepEqual(
    log.lines.map(({ level, fields }) => [level, fields]),
    [['error', { what: 'two', error: 'Cannot find module' }]],
  );
});
