/** Commands of the console whose answers are lost: stored once, whichever page sends them again. */
import test from 'ava';
import type { CommandResource } from '../../../../actors/resources/command.ts';
import { IN_DOUBT_MS_MAX } from '../../../../console/creates.ts';
import { NotSent } from '../../../../console/failure.ts';
import type { MadeCommand, NewCommand } from '../../../../console/run/form.ts';
import { Submissions, SUBMISSION_MS_MAX } from '../../../../console/run/submission.ts';

type Answer = Error | { readonly id: string };

/** Submissions to a service whose answers, one after another, are these, the last of them for good. */
function submitting() {
  const sent: { readonly key: string; readonly expiresAt: string | null | undefined }[] = [];
  const submissions = new Submissions();
  let nowMs = 0;
  let keys = 0;
  const sendMade = (made: MadeCommand, ...answers: readonly Answer[]) => {
    let at = 0;
    return submissions.send(made, () => `key ${(keys += 1)}`, {
      create: async ({ idempotency_key: key, expired_at: expiresAt }) => {
        sent.push({ key, expiresAt });
        const answer = answers[Math.min(at, answers.length - 1)];
        at += 1;
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as CommandResource);
      },
      unanswered: () => {},
      nowMs: () => nowMs,
      wait: async (ms) => {
        nowMs += ms;
        return Promise.resolve();
      },
    });
  };
  const send = (command: NewCommand, ...answers: readonly Answer[]) => sendMade({ command }, ...answers);
  return { sent, submissions, send, sendMade, later: (ms: number) => (nowMs += ms) };
}

const LOST = new Error('WebSocket closed');
const NOT_SENT = new Error('No connection', { cause: new NotSent() });
const REFUSED = Object.assign(new Error('Validation failed'), { data: { code: 'validation_failed' } });
const SENT_COMMAND: NewCommand = { command_text: 'true', targeting: { type: 'all' } };

test('a command is sent again under the same key when no answer came, and not when it was refused', async (t) => {
  const { sent, send } = submitting();

  t.is((await send(SENT_COMMAND, LOST, LOST, { id: 'made' })).id, 'made');
  t.deepEqual(
    sent.map(({ key }) => key),
    ['key 1', 'key 1', 'key 1'],
  );
  t.is(await t.throwsAsync(send(SENT_COMMAND, REFUSED)), REFUSED);
  t.is(sent.length, 4);
  t.is(await t.throwsAsync(send(SENT_COMMAND, LOST)), LOST);
  t.true(sent.length <= 4 + SUBMISSION_MS_MAX / 1_000 + 1);
});

test('one of which nobody said what became of it is the same one when it is sent once more, and another one is not', async (t) => {
  const { sent, submissions, send } = submitting();
  await t.throwsAsync(send({ ...SENT_COMMAND, expired_at: 'soon' }, LOST));
  t.true(submissions.isInDoubt({ command: SENT_COMMAND }));

  await send({ ...SENT_COMMAND, expired_at: 'a moment later' }, { id: 'made' });
  t.deepEqual(sent.at(-1), { key: 'key 1', expiresAt: 'soon' });
  t.false(submissions.isInDoubt({ command: SENT_COMMAND }));

  await send(SENT_COMMAND, { id: 'another' });
  t.is(sent.at(-1)?.key, 'key 2');
  await t.throwsAsync(send(SENT_COMMAND, LOST));
  await send({ ...SENT_COMMAND, command_text: 'false' }, { id: 'of another text' });
  t.is(sent.at(-1)?.key, 'key 4');
  await send(SENT_COMMAND, { id: 'the one before' });
  t.is(sent.at(-1)?.key, 'key 3', 'it is still in doubt');
  await t.throwsAsync(send({ ...SENT_COMMAND, command_text: 'false' }, REFUSED));
  t.false(
    submissions.isInDoubt({ command: { ...SENT_COMMAND, command_text: 'false' } }),
    'what is refused is not stored',
  );
});

test('one that was never sent is in no doubt, and one that was sent before the connection was lost is', async (t) => {
  const { sent, submissions, send } = submitting();

  t.is((await send(SENT_COMMAND, NOT_SENT, NOT_SENT, { id: 'made' })).id, 'made');
  t.is(await t.throwsAsync(send(SENT_COMMAND, NOT_SENT)), NOT_SENT);
  t.false(submissions.isInDoubt({ command: SENT_COMMAND }));
  t.is(await t.throwsAsync(send(SENT_COMMAND, LOST, NOT_SENT)), LOST);
  t.true(submissions.isInDoubt({ command: SENT_COMMAND }));
  await t.throwsAsync(send(SENT_COMMAND, NOT_SENT));
  t.true(submissions.isInDoubt({ command: SENT_COMMAND }), 'of the time before');

  t.deepEqual([...new Set(sent.map(({ key }) => key))], ['key 1', 'key 2', 'key 3']);
});

test('one that may wait for another time than the one in doubt is another one', async (t) => {
  const { sent, submissions, sendMade } = submitting();
  const command = (expiresAt: string): NewCommand => ({ ...SENT_COMMAND, expired_at: expiresAt });
  await t.throwsAsync(sendMade({ command: command('in an hour'), expiresMs: 3_600_000 }, LOST));

  await sendMade({ command: command('in a day'), expiresMs: 86_400_000 }, { id: 'made' });

  t.deepEqual(sent.at(-1), { key: 'key 2', expiresAt: 'in a day' });
  t.true(submissions.isInDoubt({ command: command('in an hour'), expiresMs: 3_600_000 }));
});

test('one that was in doubt long ago is another one', async (t) => {
  const { sent, send, later } = submitting();
  await t.throwsAsync(send(SENT_COMMAND, LOST));

  later(IN_DOUBT_MS_MAX - SUBMISSION_MS_MAX);
  await t.throwsAsync(send(SENT_COMMAND, LOST));
  t.is(sent.at(-1)?.key, 'key 1');
  later(IN_DOUBT_MS_MAX);
  await send(SENT_COMMAND, { id: 'another' });

  t.is(sent.at(-1)?.key, 'key 2');
});

test('one that is sent while it is under way is sent once, and who sent it last hears that no answer came', async (t) => {
  const submissions = new Submissions();
  const answers = [Promise.withResolvers<CommandResource>(), Promise.withResolvers<CommandResource>()] as const;
  const [keys, heard]: [string[], string[]] = [[], []];
  const send = (page: string) =>
    submissions.send({ command: SENT_COMMAND }, () => `key of the ${page} page`, {
      create: ({ idempotency_key: key }) => answers[(keys.push(key) - 1) as 0 | 1].promise,
      unanswered: () => void heard.push(page),
      nowMs: () => 0,
      wait: () => Promise.resolve(),
    });

  const sendings = [send('first'), send('second')];
  answers[0].reject(LOST);
  answers[1].resolve({ id: 'made' } as CommandResource);
  const made = await Promise.all(sendings);

  t.deepEqual(
    made.map(({ id }) => id),
    ['made', 'made'],
  );
  t.deepEqual([keys, heard], [['key of the first page', 'key of the first page'], ['second']]);
});
