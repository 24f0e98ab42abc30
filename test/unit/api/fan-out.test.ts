/** How many nodes a script of a given length reaches in one command. */
import test from 'ava';
import { v7 } from 'uuid';
import { ok } from '../../../actors/refusal.ts';
import type { Target } from '../../../actors/targeting-schema.ts';
import type { Call } from '../../../api/operation.ts';
import { create_command, FAN_OUT_SCRIPT_BYTES_MAX } from '../../../api/operations/commands.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** What a create with this script answers where so many nodes match, and how many were asked to be stored. */
async function create(command_text: string, nodes: number) {
  let stored = 0;
  const targets = async () =>
    Array.from({ length: nodes }, () => ({ node: v7(), cluster: 'c', clusterName: 'c' }) as unknown as Target);
  const ask = async (build: (replyTo: never) => { message: { targets: readonly Target[] } }) => {
    stored += build(null as never).message.targets.length;
    return ok(null);
  };
  const ports = { clock: createFakeClock(), newId: v7, ask, reads: { targets } };
  const call = { ports, trace: null, idempotency: null } as unknown as Call;
  const answer = await create_command.handle({ command_text, targeting: { type: 'all' } }, call);
  return { refusal: answer.ok ? null : answer.refusal, stored };
}

test('a script that is short reaches any number of nodes, and a longer one as many as its events are stored of at once', async (t) => {
  const script = 'x'.repeat(FAN_OUT_SCRIPT_BYTES_MAX / 1_024 - 2); // with its quotes: a 1,024th

  t.deepEqual(await create('uptime', 50_000), { refusal: null, stored: 50_000 });
  t.deepEqual(await create(script, 1_024), { refusal: null, stored: 1_024 });
  t.deepEqual(await create(script, 1_025), {
    refusal: {
      code: 'validation_failed',
      message: 'Validation failed',
      details: {
        command_text: [
          'runs on at most 1024 nodes at a time at this length, and 1025 match: target fewer at a time, or have a shorter script fetch the rest',
        ],
      },
    },
    stored: 0,
  });
});

test('a script counts by its bytes as they stand in an event', async (t) => {
  const length = FAN_OUT_SCRIPT_BYTES_MAX / 2_048 - 2;

  t.is((await create('x'.repeat(length), 2_048)).refusal, null);
  t.is((await create('\n'.repeat(length), 2_048)).refusal?.code, 'validation_failed');
  t.is((await create('é'.repeat(length), 2_048)).refusal?.code, 'validation_failed');
});
