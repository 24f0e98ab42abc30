/** Admins of different versions. */
import test from 'ava';
import { LINK_VERSION } from '../../../../transport/admins/protocol/version.ts';
import { callOf, DONE, linkedAdmins, noSignal } from '../../../support/linked-admins.ts';

test('admins one version apart call each other, others and those of before calls are not asked', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const outcomes: Record<string, string> = {};
  for (const linkVersion of [null, LINK_VERSION - 1, LINK_VERSION, LINK_VERSION + 1, LINK_VERSION + 2]) {
    a.saw(a.row, { ...b.row, linkVersion });
    outcomes[String(linkVersion)] = (await a.links.calls.call(b.id, callOf(), noSignal())).type;
  }

  t.deepEqual(outcomes, {
    null: 'other_version',
    [LINK_VERSION - 1]: 'answered',
    [LINK_VERSION]: 'answered',
    [LINK_VERSION + 1]: 'answered',
    [LINK_VERSION + 2]: 'other_version',
  });
});

test('an admin of the next version says more in its calls and answers: what is known here is read', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const more = { ...callOf(), since: 'the next version', target: { ...callOf().target, region: 3 } };
  b.handler = async () => Promise.resolve(Object.assign({ cost_ms: 3 }, DONE));

  t.deepEqual(await a.links.calls.call(b.id, more, noSignal()), DONE);
  t.deepEqual(b.calls, [{ ...callOf(), call_id: more.call_id }]);
});

test('a refusal whose code only the next version knows reads as one that passes', async (t) => {
  const { a, b } = await linkedAdmins(t);
  b.handler = async () =>
    Promise.resolve({
      type: 'answered',
      result: { ok: false, refusal: { code: 'new_reason' as never, message: 'Why.' } },
    });

  t.deepEqual(await a.links.calls.call(b.id, callOf(), noSignal()), {
    type: 'answered',
    result: { ok: false, refusal: { code: 'service_unavailable', message: 'Why.' } },
  });
});
