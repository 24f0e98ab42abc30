/** Creates of the console whose answers are lost: asked for again, each is the same one. */
import test from 'ava';
import { IN_DOUBT_MS_MAX, keyed } from '../../../console/creates.ts';
import { NotSent } from '../../../console/failure.ts';

interface Input {
  readonly name: string;
  readonly expired_at?: string;
  readonly idempotency_key?: string;
}

const LOST = new Error('lost');
const NOT_SENT = new Error('not sent', { cause: new NotSent() });
const REFUSED = Object.assign(new Error('Validation failed'), { data: { code: 'validation_failed' } });

/** Creates that end as they are told to. `keys`: those that were shown, as numbers in the order of their first. */
function creating() {
  const [sent, keys]: [Input[], string[]] = [[], []];
  const clock = { ms: 0 };
  let next: Error | null = null;
  const create = keyed(
    async (input: Input) => {
      sent.push(input);
      const key = input.idempotency_key ?? '';
      if (!keys.includes(key)) keys.push(key);
      return next === null ? Promise.resolve(keys.indexOf(key)) : Promise.reject(next);
    },
    () => clock.ms,
  );
  const ends = async (error: Error | null, input: Input, chosen?: string): Promise<number | null> => {
    next = error;
    return create(input, chosen).catch(() => null);
  };
  return { sent, clock, keys, ends, forget: create.forget };
}

test('one whose answer is lost is sent as it was sent then, also after one that was not sent', async (t) => {
  const { sent, ends } = creating();

  await ends(LOST, { name: 'a', expired_at: 'soon' });
  await ends(NOT_SENT, { name: 'a', expired_at: 'later' });

  t.is(await ends(null, { name: 'a', expired_at: 'still later' }), 0);
  t.deepEqual(new Set(sent.map(({ expired_at: at }) => at)), new Set(['soon']));
});

test('one for which another lifetime is chosen is another one, and lasts as long as that', async (t) => {
  const { sent, ends } = creating();

  await ends(LOST, { name: 'a', expired_at: 'in an hour' }, '3600');

  t.is(await ends(null, { name: 'a', expired_at: 'in a day' }, '86400'), 1);
  t.is(sent.at(-1)?.expired_at, 'in a day');
});

test('one in doubt stays the same one while others are refused or done, until it is done or forgotten', async (t) => {
  const { ends, forget } = creating();

  await ends(LOST, { name: 'a' });
  await ends(REFUSED, { name: 'b' });
  await ends(null, { name: 'c' });
  t.is(await ends(LOST, { name: 'a' }), null);
  t.is(await ends(null, { name: 'a' }), 0);
  await ends(LOST, { name: 'a' });
  forget();

  t.is(await ends(null, { name: 'a' }), 4, 'what was made may have been removed since');
});

test('after one that is done or refused, of another input, or in doubt long ago, it is another one', async (t) => {
  const { keys, clock, ends } = creating();

  await ends(null, { name: 'a' });
  await ends(REFUSED, { name: 'a' });
  await ends(LOST, { name: 'a' });
  await ends(LOST, { name: 'b' });
  clock.ms += IN_DOUBT_MS_MAX + 1;
  await ends(null, { name: 'b' });

  t.is(keys.length, 5);
});
