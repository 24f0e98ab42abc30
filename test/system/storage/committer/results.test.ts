/** What executions come to, as the group commit stores it: many in one transaction, each output to the letter. */
import test from 'ava';
import type { Write } from '../../../../actors/writes.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { finish, openFixture } from '../../../support/database/committer-fixture.ts';

test('changes that wait together are stored in one transaction', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const nodes = [await fixture.node(lease), await fixture.node(lease), await fixture.node(lease)];
  const { executions } = await fixture.executions(nodes);
  const before = fixture.committer.counters.batches;

  await Promise.all(
    executions.map((execution) => fixture.commit(lease, [{ kind: 'execution-sent', execution, atMs: NOW_MS }])),
  );

  t.is(fixture.committer.counters.batches - before, 1);
  const transactions = await fixture.rows('select distinct txid from event where subject = any($1)', [executions]);
  t.is(transactions.length, 1);
});

test('an execution that is sent and finished in one batch is stored once, with both events; over already, neither is', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const execution = await fixture.execution(await fixture.node(lease));
  const both: Write[] = [
    { kind: 'execution-sent', execution, atMs: NOW_MS - 5 },
    finish(execution, { sentAtMs: NOW_MS - 5 }),
  ];

  t.deepEqual(await fixture.commit(lease, both), ['ok', 'ok']);
  t.like(await fixture.row(execution), {
    status: 'completed',
    exit_code: 0,
    sent: true,
    completed: true,
    output: 'done\n',
  });
  t.is((await fixture.eventsOf(execution)).length, 2);

  t.deepEqual(await fixture.commit(lease, both), ['conflict', 'conflict']);
  t.is((await fixture.eventsOf(execution)).length, 2);
});

test('output that came in parts is joined exactly, in order, each part once, and the parts are gone', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const execution = await fixture.execution(await fixture.node(lease));
  const texts = Array.from({ length: 12 }, (_, index) => `${index}:${'é😀\\"\n{}'.repeat(500)}`);
  const parts = texts.map((text, part): Write => ({ kind: 'output-part', execution, part, text }));

  await fixture.commit(lease, parts.slice(0, 7));
  await fixture.commit(lease, parts.slice(5).toReversed()); // a reconnected agent repeats some
  await fixture.store(lease, finish(execution, { ending: { exitCode: 0, output: '', parts: 12, truncated: true } }));

  t.like(await fixture.row(execution), { output: texts.join(''), output_truncated: true });
  t.deepEqual(await fixture.rows('select 1 from execution_output_part'), []);
});

test('outputs that are hard to store are stored: NUL, quotes, backslashes, braces, half a character, the word NULL', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const outputs = [
    'a\0b',
    '\0',
    '"',
    '\\',
    '{}',
    '{"a",b}',
    'NULL',
    '',
    ' ',
    ',',
    '\ud83d',
    '\r\n\t\u2028',
    "'; drop table node; --",
  ];
  for (const output of outputs) {
    const execution = await fixture.execution(node);
    await fixture.store(lease, finish(execution, { ending: { exitCode: 0, output, parts: 0, truncated: false } }));
    t.is(
      (await fixture.row(execution))['output'],
      output.replaceAll('\0', '\uFFFD').toWellFormed(),
      JSON.stringify(output),
    );
  }
});
