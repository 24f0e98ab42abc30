/** What agents by hand say while nobody asks them, and that they end with their tests. */
import { mock } from 'node:test';
import test, { type ExecutionContext } from 'ava';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { REPORT_LATE_MS } from '../../../transport/sessions/limits.ts';
import { AdminDouble } from '../agent/admin-double.ts';
import { createScope, type Scope } from '../scope.ts';
import { until } from '../until.ts';
import { rawAgent, type RawAgent } from './raw-agent.ts';
import { UpdatingAgent } from './updating-agent.ts';

const [NODE, OTHER] = ['0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d98', '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d97'];
const REQUEST = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d99';

async function admin(t: ExecutionContext): Promise<AdminDouble> {
  const double = await AdminDouble.start();
  t.teardown(() => double.close());
  return double;
}

/** An agent that was enrolled, whose token is its id. */
function enrolled(scope: Scope, { url }: AdminDouble, node = NODE): RawAgent {
  return rawAgent(scope, () => url, { node_id: node, api_token: node } as unknown as EnrollAnswer);
}

test.serial('one that nobody asks reports its health more often than an admin wants to hear of it', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const double = await admin(t);
  const agent = new UpdatingAgent(t, enrolled(t, double));
  await agent.connect();
  const session = await double.session();

  mock.timers.tick(REPORT_LATE_MS / 2);
  const [first] = await until('a report', () => session.of('report').length > 0 && session.of('report'));
  agent.isHealthy = false;
  mock.timers.tick(REPORT_LATE_MS / 2);
  const later = await until('one of what it is now', () => session.of('report').findLast((one) => !isWell(one)));

  t.deepEqual(first?.report, { services: [] });
  t.deepEqual(later.report.services, [{ name: 'api', healthy: false, detail: 'it does not listen' }]);
});

const isWell = ({ report }: { readonly report: { readonly services: readonly object[] } }) =>
  report.services.length === 0;

test.serial('who waits for a frame of a session hears at once that it was closed without it', async (t) => {
  const double = await admin(t);
  double.habits = { welcomes: false };
  const connecting = enrolled(t, double).connect();

  (await double.session()).close(4001, 'who are you?');

  await t.throwsAsync(connecting, { message: 'closed with 4001 (who are you?) before a welcome frame came' });
});

test.serial('a frame that came before the end of its session is there after it', async (t) => {
  const double = await admin(t);
  const session = await enrolled(t, double).connect();
  (await double.session()).close(1000);
  await session.closed;

  t.is((await session.frame('welcome')).type, 'welcome');
});

test.serial('one that is on its way back when its test ends does not go on trying', async (t) => {
  const double = await admin(t);
  const scope = createScope();
  for (const agent of [enrolled(scope, double), enrolled(t, double, OTHER)])
    await new UpdatingAgent(agent.node_id === NODE ? scope : t, agent).connect();
  const triesOf = (node: string) =>
    double.sessions.filter(({ authorization }) => authorization === `Bearer ${node}`).length;
  /** Both are hung up again and again, until this one tried so many times more. */
  const tried = async (node: string, times: number) => {
    const before = triesOf(node);
    await until(`${times} more tries`, () => {
      for (const session of double.sessions) if (session.isOpen && session.of('hello').length > 0) session.terminate();
      return triesOf(node) >= before + times;
    });
  };
  double.habits = { welcomes: false };
  for (const session of double.sessions) session.send({ type: 'update', request: REQUEST });
  await until('both update', () => triesOf(NODE) > 1 && triesOf(OTHER) > 1);

  await tried(NODE, 2);
  await scope.end();
  await tried(OTHER, 2); // one that was on the wire has arrived
  const tries = triesOf(NODE);
  await tried(OTHER, 5);

  t.is(triesOf(NODE), tries);
});
