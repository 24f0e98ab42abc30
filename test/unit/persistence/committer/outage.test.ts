/**
 * What is told of commits in doubt once the database is back, and when it is lost again meanwhile.
 *
 * Promises: E5, V1.
 */
import test from 'ava';
import type { Pool } from 'pg';
import type { Notice } from '../../../../actors/notice.ts';
import type { Change } from '../../../../actors/step.ts';
import { IN_DOUBT_NOTICES_MAX, Outage } from '../../../../persistence/committer/outage.ts';
import { NODE } from '../../../support/actors.ts';
import { recordingLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';

/** As `pg` says it of a server that ends. */
const ENDING = Object.assign(new Error('terminating connection'), { code: '57P01' });

/** An outage before a database that takes writes, and fails so many of the first looks at what was stored. */
function fixture({ failing = 0 }: { readonly failing?: number } = {}) {
  const state = { looks: 0, ending: false, saidEnding: 0, told: [] as Notice[] };
  const query = async (text: string): Promise<object> => {
    if (text.includes('from command_execution')) {
      state.looks += 1;
      if (state.looks <= failing) throw ENDING;
    }
    return Promise.resolve({ rows: [] }); // no row of anything is there
  };
  const pool = {
    query,
    get ending() {
      if (state.ending) state.saidEnding += 1;
      return state.ending;
    },
  } as unknown as Pool;
  const log = recordingLog();
  const committed = (notices: readonly Notice[]): void => void state.told.push(...notices);
  return { state, log, outage: new Outage({ pool, log, committed, secondLookMs: 10 }) };
}

const changeWith = (...notices: readonly Notice[]): Change => ({ write: { kind: 'nothing' }, events: [], notices });

const REMOVED: Notice = { type: 'node-removed', node: NODE };
const CHANGED: Notice = { type: 'node-changed', node: NODE };

test('it is told at once, and once more when the server has ended what it had begun: in doubt what ends something', async (t) => {
  const { state, outage } = fixture();

  outage.began(ENDING, [changeWith(REMOVED, CHANGED, { ...REMOVED, type: 'node-revoked' })]);
  await until('two looks', () => state.looks >= 2);

  const once: readonly Notice[] = [
    CHANGED,
    { ...REMOVED, type: 'node-revoked', isInDoubt: true },
    { ...REMOVED, isInDoubt: true },
    { type: 'events-stored' },
  ];
  await until('both are told', () => state.told.length === 2 * once.length);
  t.deepEqual(state.told, [...once, ...once]);
});

test('a look that fails is made again, with what came meanwhile', async (t) => {
  const { state, log, outage } = fixture({ failing: 20 });

  outage.began(ENDING, [changeWith(CHANGED)]);
  await until('the first look', () => state.looks >= 1);
  outage.began(ENDING, [changeWith(REMOVED)]);
  await until('it is told', () => state.told.some(({ type }) => type === 'node-removed'));

  t.true(state.told.some(({ type }) => type === 'node-changed'));
  t.true(log.lines.some(({ level, message }) => level === 'warn' && message.includes('could not be read')));
});

test('nobody looks on when the admin ends', async (t) => {
  const { state, outage } = fixture({ failing: Infinity });

  outage.began(ENDING, [changeWith(CHANGED)]);
  await until('the first look', () => state.looks >= 1);
  state.ending = true;
  await until('it is seen that it ends', () => state.saidEnding > 0);

  t.false(outage.isOn);
  t.deepEqual(state.told, []);
});

test(`no more than ${IN_DOUBT_NOTICES_MAX} notices are kept, the latest`, async (t) => {
  const { state, outage } = fixture();
  const many = Array.from({ length: IN_DOUBT_NOTICES_MAX }, () => CHANGED);

  outage.began(ENDING, [changeWith(REMOVED, ...many)]);
  await until('the first look', () => state.told.length > 0);

  // by each look, of which a busy machine may have had the second by now
  t.is(state.told.filter(({ type }) => type === 'node-changed').length % IN_DOUBT_NOTICES_MAX, 0);
  t.false(state.told.some(({ type }) => type === 'node-removed'));
});
