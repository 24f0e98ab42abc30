/** What a session does with executions: deliveries, results, outputs and those who watch them. */
import test from 'ava';
import type { AgentFrame } from '../../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import {
  FRAME_BYTES_MAX,
  OUTPUT_PART_BYTES_MAX,
  SOCKET_BUFFERED_BYTES_MAX,
  TAILS_PER_SESSION_MAX,
} from '../../../../transport/protocol/limits.ts';
import { NODE, TextCursor, delivery, executionId, sessionFixture } from '../../../support/agent/session-fixture.ts';

test('hello comes first and names everything the journal holds', (t) => {
  const { journal, link } = sessionFixture();
  journal.receive([delivery(1), delivery(2)]);
  journal.finish(executionId(2));

  link().open();

  t.deepEqual(link().types(), ['hello']);
  t.like(link().frames[0], {
    seq: 1,
    node: NODE,
    protocol: PROTOCOL_VERSION,
    holding: [executionId(1), executionId(2)],
  });
});

test('deliveries are in the journal before they are acknowledged, and run once', (t) => {
  const { journal, runner, link } = sessionFixture();
  link().welcome();

  link().hear({ type: 'deliver', deliveries: [delivery(1), delivery(2)] });
  link().hear({ type: 'deliver', deliveries: [delivery(2), delivery(3)] });

  t.deepEqual(
    link()
      .frames.slice(1)
      .map((frame) => (frame.type === 'acknowledge' ? frame.executions : frame.type)),
    [
      [executionId(1), executionId(2)],
      [executionId(2), executionId(3)],
    ],
  );
  t.deepEqual(runner.asked, [
    ['run', [executionId(1), executionId(2)]],
    ['run', [executionId(3)]],
  ]);
  t.is(journal.held.size, 3);
});

test('a delivery that cannot be stored is not acknowledged, and asked for again when it can', (t) => {
  const { clock, journal, runner, link, links } = sessionFixture();
  link().welcome();
  journal.isFull = true;

  link().hear({ type: 'deliver', deliveries: [delivery(1)] });
  t.deepEqual(link().types(), ['hello', 'report']);
  clock.pass(9_000);
  link().hear({ type: 'pong' });
  t.is(links.length, 1);

  journal.isFull = false;
  clock.pass(11_000);
  t.is(links.length, 2, 'a new session, in which the admin repeats what it has');
  t.deepEqual(runner.asked, []);
});

test('results are sent again on every connection until they are confirmed', (t) => {
  const { clock, journal, link, session } = sessionFixture();
  link().welcome();
  journal.finish(executionId(1), 'out');
  session.finished([executionId(1)]);
  t.like(link().frames.at(-1), {
    type: 'result',
    results: [{ execution: executionId(1), exit_code: 0, output: 'out', parts: 0 }],
  });

  link().hangUp(1006);
  clock.pass(1_000);
  link().welcome();
  t.is(link().types().at(-1), 'result');
  link().hear({ type: 'confirm', executions: [executionId(1)] });
  t.is(journal.held.size, 0);

  link().hangUp(1006);
  clock.pass(1_000);
  link().welcome();
  t.deepEqual(link().types(), ['hello']);
});

test('a confirm for a result that was not sent on this connection forgets nothing', (t) => {
  const { journal, link } = sessionFixture();
  link().welcome();
  journal.finish(executionId(1));

  link().hear({ type: 'confirm', executions: [executionId(1)] });

  t.is(journal.held.size, 1);
});

test('many results share frames that stay below the limit', (t) => {
  const { journal, link, session } = sessionFixture();
  const executions = Array.from({ length: 1_000 }, (_, index) => executionId(index));
  for (const execution of executions) journal.finish(execution, '\u0001'.repeat(3_000)); // sixfold when escaped
  link().welcome();

  session.finished([]);

  const results = link().frames.filter((frame) => frame.type === 'result');
  t.true(results.length > 1 && results.length < 100, String(results.length));
  t.true(results.every((frame) => Buffer.byteLength(JSON.stringify(frame)) < FRAME_BYTES_MAX));
  t.deepEqual(
    results.flatMap((frame) => frame.results.map((result) => result.execution)),
    executions,
  );
});

test('a long output goes ahead in parts, each after the one before is stored', (t) => {
  const { journal, link } = sessionFixture();
  const output = 'x'.repeat(OUTPUT_PART_BYTES_MAX * 2 + 5);
  journal.finish(executionId(1), output);
  journal.finish(executionId(2), 'short');
  link().welcome();
  const parts = () => link().frames.filter((frame) => frame.type === 'output-part');
  t.deepEqual(link().types(), ['hello', 'result', 'output-part'], 'short results do not wait for long ones');

  link().hear({ type: 'part-stored', execution: executionId(1), part: 0 });
  link().hear({ type: 'part-stored', execution: executionId(1), part: 0 });
  t.is(parts().length, 2, 'a repeated answer moves nothing');
  link().hear({ type: 'part-stored', execution: executionId(1), part: 1 });
  link().hear({ type: 'part-stored', execution: executionId(1), part: 2 });

  t.is(
    parts()
      .map((part) => part.text)
      .join(''),
    output,
  );
  t.like(link().frames.at(-1), { type: 'result', results: [{ execution: executionId(1), output: '', parts: 3 }] });
});

test('a settled execution is dropped in the middle of its parts, and the next long output follows', (t) => {
  const { journal, runner, link } = sessionFixture();
  for (const n of [1, 2]) journal.finish(executionId(n), 'x'.repeat(OUTPUT_PART_BYTES_MAX + 1));
  link().welcome();

  link().hear({ type: 'settle', executions: [executionId(1)] });

  t.deepEqual(runner.asked, [['settle', [executionId(1)]]]);
  t.like(link().frames.at(-1), { type: 'output-part', execution: executionId(2), part: 0 });
});

test('nothing is sent into a full socket, and all of it when the socket is empty again', (t) => {
  const { journal, link, session } = sessionFixture();
  link().welcome();
  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX;
  session.reportNow(); // fills it
  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX + 1;
  journal.finish(executionId(1));
  session.finished([executionId(1)]);
  t.deepEqual(link().types(), ['hello', 'report']);

  link().flush();

  t.deepEqual(link().types(), ['hello', 'report', 'result']);
});

test('a watched output is streamed from where it was asked for, as far as the socket takes it, to its end', (t) => {
  const { runner, link, session } = sessionFixture();
  const cursor = new TextCursor();
  runner.cursors.set(executionId(1), cursor);
  cursor.text = '0123456789';
  link().welcome();
  const tail = () =>
    link()
      .frames.filter((frame): frame is AgentFrame & { type: 'tail-output' } => frame.type === 'tail-output')
      .map(({ offset, text, end }) => [offset, text.length, end]);

  link().hear({ type: 'tail', execution: executionId(1), offset: 4 });
  t.deepEqual(tail(), [[4, 6, false]]);

  link().bufferedBytes = SOCKET_BUFFERED_BYTES_MAX;
  session.reportNow();
  link().bufferedBytes += 1;
  cursor.text += 'x'.repeat(100_000);
  cursor.wake();
  t.is(tail().length, 1, 'the socket is full');
  link().flush();
  t.deepEqual(tail().slice(1), [
    [10, 65_536, false],
    [65_546, 34_464, false],
  ]);

  cursor.text += 'end';
  cursor.ended = true;
  cursor.wake();
  t.deepEqual(tail().slice(3), [
    [100_010, 3, false],
    [100_013, 0, true],
  ]);
  t.true(cursor.isClosed);
});

test('nothing is said of an unknown execution, nor of the oldest tail that stops for one too many', (t) => {
  const { runner, link } = sessionFixture();
  link().welcome();
  const before = link().types();

  link().hear({ type: 'tail', execution: executionId(999), offset: 7 });
  for (let n = 0; n <= TAILS_PER_SESSION_MAX; n += 1) {
    runner.cursors.set(executionId(n), new TextCursor());
    link().hear({ type: 'tail', execution: executionId(n), offset: 0 });
  }

  t.deepEqual(link().types(), before, 'an end would say that all of its output was sent');
  t.deepEqual(
    [...runner.cursors].filter(([, cursor]) => cursor.isClosed).map(([execution]) => execution),
    [executionId(0)],
  );
  link().hangUp(1006);
  t.true([...runner.cursors.values()].every((cursor) => cursor.isClosed));
});
