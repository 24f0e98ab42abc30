/** Reads that are made again while the service is away, and what the person hears of it. */
import test from 'ava';
import { Patience } from '../../../../cli/service/patience.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';
import { until } from '../../../support/until.ts';

/** For which no test waits, in s. */
const RETRY_AFTER_S = 600;

/** Somebody who waits, and how often they were told of a failure. */
function waiting() {
  const leave = new AbortController();
  let [told, asked] = [0, 0];
  const patience = new Patience({ signal: leave.signal, failing: () => void (told += 1), againMs: 1 });
  const ask = (...failures: readonly Error[]): Promise<string> => {
    const left = [...failures];
    return patience.ask(async () => {
      asked += 1;
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return 'answer';
    });
  };
  return { leave, ask, told: () => told, asked: () => asked };
}

test('an outage is told once, however long it is and however many ask, and the next one again', async (t) => {
  const { ask, told } = waiting();

  t.is(await ask(unreachable(), refused('service_unavailable'), refused('rate_limited')), 'answer');
  t.is(told(), 1);
  await Promise.all([ask(unreachable()), ask(unreachable())]);
  t.is(told(), 2);
});

test('an outage goes on until all who ask are answered: one answer among failures makes no second one of it', async (t) => {
  const { ask, told } = waiting();

  await Promise.all([ask(unreachable()), ask(unreachable(), unreachable(), unreachable())]);

  t.is(told(), 1);
});

test('the service is asked again when it says so, and who leaves does not wait for that', async (t) => {
  const { leave, ask, told, asked } = waiting();
  const failure = refused('rate_limited', 'Too many', RETRY_AFTER_S);

  const answer = t.throwsAsync(ask(failure));
  await until('it is told', () => told() === 1);
  await ask(unreachable(), unreachable()); // who is asked again at once had two more tries meanwhile
  leave.abort();

  t.is(await answer, failure);
  t.is(asked(), 4);
});

test('what does not pass by itself is asked once, a bug too', async (t) => {
  const { ask, told } = waiting();

  for (const failure of [refused('not_found'), refused('internal_error'), new TypeError('a bug')])
    t.is(await t.throwsAsync(ask(failure)), failure);
  t.is(told(), 0);
});

test('nobody is asked any more for who has left, who hears what it failed with', async (t) => {
  const { leave, ask } = waiting();
  leave.abort();
  const failure = unreachable();

  t.is(await t.throwsAsync(ask(failure)), failure);
});
