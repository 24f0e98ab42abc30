/** `edge run` at an admin that is away for a moment: what it reads beside its feed fails then, and it goes on. */
import test from 'ava';
import type { Handlers } from '../../../../api/client/client.ts';
import type { Api, Command } from '../../../../cli/service/client.ts';
import { EXIT } from '../../../../cli/problem.ts';
import { runCommand, type RunOptions } from '../../../../cli/run/run.ts';
import { TAILS_MAX } from '../../../../cli/run/tails.ts';
import { commandOf } from '../../../support/api/command.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';
import { idOf } from '../../../support/api/rows.ts';
import { until } from '../../../support/until.ts';

const COMMAND = idOf(TAILS_MAX + 7);

/** A call fails with this, has no answer until it is taken back, or ends well. */
type Failure = Error | 'hangs' | null;

/** A run on so many nodes, on which all ends well, at an admin whose calls fail as `fails` says. */
function run(
  nodes: number,
  { fails, ...more }: Partial<RunOptions> & { readonly fails: (operation: string, call: number) => Failure },
) {
  const calls = new Map<string, number>();
  const takenBack: string[] = [];
  let watch: Handlers<object> | undefined;
  const answer = async (operation: string, result: object, signal?: AbortSignal): Promise<object> => {
    const call = (calls.get(operation) ?? 0) + 1;
    calls.set(operation, call);
    const failure = fails(operation, call);
    if (failure === 'hangs') await takenBackBy(signal).finally(() => takenBack.push(operation));
    else if (failure !== null) throw failure;
    return result;
  };
  const summary = (some: Partial<Command['summary']>) => ({
    ...commandOf(COMMAND).summary,
    total: nodes,
    ...some,
  });
  const done = summary({ completed: nodes, succeeded: nodes });
  const executions = Array.from({ length: nodes }, (_none, place) => ({
    id: idOf(place),
    node_id: idOf(place),
    cluster_name: 'demo',
    status: 'completed',
    exit_code: 0,
    output: '',
    output_withheld: true,
  }));
  const asked = (operation: string, result: (input: { readonly id: string }) => object) => ({
    query: (input: { readonly id: string }, given?: Given) => answer(operation, result(input), given?.signal),
    mutate: (input: { readonly id: string }, given?: Given) => answer(operation, result(input), given?.signal),
  });
  const subscribe = (of: (handlers: Handlers<object>) => void) => ({
    subscribe(_input: unknown, handlers: Handlers<object>) {
      of(handlers);
      return { unsubscribe() {} };
    },
  });
  const api = {
    create_command: asked('create', () => ({ ...commandOf(COMMAND), summary: summary({ pending: nodes }) })),
    cancel_command: asked('cancel', () => ({})),
    get_command: asked('command', () => ({ ...commandOf(COMMAND), summary: done })),
    list_nodes: asked('names', () => ({ data: [], pagination: { total_count: 0 } })),
    list_command_executions: asked('outputs', () => ({ data: executions.slice(-1) })),
    get_command_execution: asked('whole', ({ id }) => executions.find((one) => one.id === id) ?? {}),
    commands: { watch: subscribe((handlers) => (watch = handlers)) },
    executions: { tail: subscribe(({ onData }) => setImmediate(onData, { id: '0', data: { type: 'end' } })) },
  } as unknown as Api;
  const never = new AbortController().signal;
  const options = { format: 'table', summary: null, isRaw: false, isColoured: false, cancel: never, leave: never };
  const status = runCommand(
    api,
    { api, close() {} },
    { command_text: 'true', targeting: { type: 'all' } },
    { ...(options as RunOptions), waitsForAway: true, isFramed: false, ...more },
  );
  return {
    status,
    calls,
    takenBack,
    ends: async (status: 'completed' | 'pending' = 'completed') => {
      await until('the feed is asked for', () => watch !== undefined);
      const command = { summary: status === 'completed' ? done : summary({ pending: nodes }) };
      const data = {
        type: 'snapshot',
        page: 1,
        pages: 1,
        command,
        executions: executions.map((execution) => ({ ...execution, status })),
      };
      watch?.onData({ id: '1', data });
    },
  };
}

interface Given {
  readonly signal?: AbortSignal;
}

/** As the client ends a call: at once where the signal has aborted. */
function takenBackBy(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_answer, reject) => {
    const taken = (): void => reject(unreachable());
    signal?.addEventListener('abort', taken, { once: true });
    if (signal?.aborted === true) taken();
  });
}

const firstFails = (operation: string, call: number): Error | null =>
  ['create', 'cancel'].includes(operation) || call > 1 ? null : unreachable();

for (const [shape, more, operations] of [
  ['lines as they come', {}, ['create', 'names']],
  ['one summary', { summary: 'grouped' }, ['create', 'names', 'outputs', 'whole']],
  ['JSON', { format: 'json' }, ['command', 'create', 'outputs', 'whole']],
] as const)
  test(`a run that is told as ${shape} ends as it went, though each thing that it asks for fails once`, async (t) => {
    const { status, calls, ends } = run(1, { fails: firstFails, ...more });
    await ends();

    t.is(await status, EXIT.ok);
    t.deepEqual([...calls.keys()].toSorted(), [...operations]);
  });

test('outputs of more nodes than are followed are read until they are there', async (t) => {
  const { status, calls, ends } = run(TAILS_MAX + 1, { fails: firstFails });
  await ends();

  t.is(await status, EXIT.ok);
  t.deepEqual([calls.get('outputs'), calls.get('whole')], [2, 2]);
});

test('a refusal that does not pass ends a run', async (t) => {
  const { status, ends } = run(1, {
    fails: (operation) => (operation === 'outputs' ? refused('internal_error', 'Broken') : null),
    summary: 'grouped',
  });
  await ends();

  await t.throwsAsync(status, { message: 'Broken' });
});

test('who does not want to wait for an admin that stays away leaves', async (t) => {
  const leave = new AbortController();
  const { status, calls, ends } = run(1, {
    fails: (operation) => (operation === 'outputs' ? unreachable() : null),
    summary: 'grouped',
    leave: leave.signal,
  });
  await ends();
  await until('the outputs are asked for', () => calls.has('outputs'));

  leave.abort();

  t.is(await status, EXIT.interrupted);
});

for (const [operation, more] of [
  ['outputs', { summary: 'grouped' }],
  ['whole', { summary: 'grouped' }],
  ['command', { format: 'json' }],
] as const)
  test(`who leaves does not wait for an answer that does not come (${operation})`, async (t) => {
    const leave = new AbortController();
    const { status, calls, takenBack, ends } = run(1, {
      fails: (asked) => (asked === operation ? 'hangs' : null),
      leave: leave.signal,
      ...more,
    });
    await ends();
    await until('it is asked for', () => calls.has(operation));

    leave.abort();

    t.is(await status, EXIT.interrupted);
    t.deepEqual(takenBack, [operation]);
  });

test('who leaves does not wait for the names of machines that are away', async (t) => {
  const leave = new AbortController();
  const { status, calls, takenBack, ends } = run(1, {
    // asked first whether they are connected, then for the outputs
    fails: (operation, call) => (operation === 'names' && call === 3 ? 'hangs' : null),
    summary: 'grouped',
    waitsForAway: false,
    leave: leave.signal,
  });
  await ends('pending');
  await until('they are asked for', () => calls.get('names') === 3);

  leave.abort();

  t.is(await status, EXIT.someUnfinished);
  t.deepEqual(takenBack, ['names']);
});

test('a run is cancelled by one Ctrl-C, also while the admin is away', async (t) => {
  const cancel = new AbortController();
  const { status, calls, ends } = run(1, {
    fails: (operation, call) => (operation === 'cancel' && call === 1 ? unreachable() : null),
    cancel: cancel.signal,
  });

  cancel.abort();
  await until('it is asked for again', () => calls.get('cancel') === 2);
  await ends();

  t.is(await status, EXIT.ok);
});

test('a cancel that is on its way is not taken back, whether somebody leaves or the run ends meanwhile', async (t) => {
  for (const isLeft of [true, false]) {
    const [cancel, leave] = [new AbortController(), new AbortController()];
    const { status, calls, takenBack, ends } = run(1, {
      fails: (operation) => (operation === 'cancel' ? 'hangs' : null),
      cancel: cancel.signal,
      leave: leave.signal,
    });
    cancel.abort();
    await until('it is asked for', () => calls.has('cancel'));

    if (isLeft) leave.abort();
    else await ends();

    t.is(await status, isLeft ? EXIT.interrupted : EXIT.ok);
    t.deepEqual(takenBack, []);
  }
});

test('one signal that cancels and leaves, as that of the demo, sends the cancel', async (t) => {
  const stop = new AbortController();
  const { status, calls, takenBack } = run(1, {
    fails: (operation) => (operation === 'cancel' ? 'hangs' : null),
    cancel: stop.signal,
    leave: stop.signal,
  });
  await until('it is stored', () => calls.has('create'));

  stop.abort();

  t.is(await status, EXIT.interrupted);
  t.deepEqual([calls.get('cancel'), takenBack], [1, []]);
});
