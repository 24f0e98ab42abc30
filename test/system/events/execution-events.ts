/** What is told of executions, from their creation to their end. */
import test from 'ava';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import type { EventsFixture } from './fixture.ts';

const only = (node: string) => ({ targeting: { type: 'nodes', node_ids: [node] } });

/** Declares the tests. */
export function declareExecutionEvents(fixture: EventsFixture): void {
  test('an execution is told of from its creation to its result, without its output', async (t) => {
    const agent = await fixture.healthyAgent();
    const command = await fixture.fleet.run('echo canary-output; exit 3', { ...only(agent.node), timeout: 30_000 });
    await fixture.fleet.settled(command);

    const [created, sent, completed] = await Promise.all(
      (['created', 'sent', 'completed'] as const).map((happening) =>
        fixture.toldOnce(`edge.command_execution.${happening}`, { command_id: command.id }),
      ),
    );

    const [{ id, output: _output, output_truncated: _truncated, output_withheld: _withheld, ...stored } = { id: '' }] =
      await fixture.fleet.executionsOf(command);
    const data = { command_execution_id: id, ...stored };
    t.deepEqual(completed?.data, data as never);
    t.deepEqual(sent?.data, {
      ...data,
      status: 'sent',
      exit_code: null,
      completed_at: null,
      updated_at: sent?.time,
    } as never);
    t.deepEqual(created?.data, {
      ...data,
      status: 'pending',
      exit_code: null,
      sent_at: null,
      completed_at: null,
      updated_at: created?.time,
    } as never);
    t.deepEqual([created?.time, sent?.time, completed?.time], [
      created?.data['inserted_at'],
      sent?.data['sent_at'],
      completed?.data['completed_at'],
    ] as never);
    t.deepEqual(
      [completed?.data['exit_code'], completed?.data['timeout'], completed?.data['target_all']],
      [3, 30_000, false],
    );
    fixture.secrets.push('canary-output\n');
  });

  test('an execution is cancelled before it was sent, while it ran, and by the loss of its machine', async (t) => {
    const agent = await fixture.healthyAgent();
    const away = await fixture.raw();
    const never = await fixture.fleet.run('true', only(away.node_id));
    const running = await fixture.fleet.run('sleep 1000', only(agent.node));
    const [execution] = await fixture.fleet.settled(running, ([one]) => one?.status === 'sent');
    const lost = await fixture.fleet.run('sleep 1000', only(away.node_id));
    await fixture.fleet.rest.post(`/commands/${never.id}/cancel`);
    await fixture.fleet.rest.post(`/command_executions/${execution?.id ?? ''}/cancel`);
    const session = await fixture.greet(away);
    const { deliveries } = await session.frame('deliver');
    session.send({ type: 'acknowledge', executions: deliveries.map((delivery) => delivery.execution) });
    await fixture.told('edge.command_execution.sent', { command_id: lost.id });
    await fixture.greet(away);

    const [unsent, ended, gone] = await Promise.all(
      [never, running, lost].map(({ id }) => fixture.toldOnce('edge.command_execution.cancelled', { command_id: id })),
    );

    const shapes = [unsent, ended, gone].map((event) => [
      event?.data['exit_code'],
      event?.data['sent_at'] !== null,
      event?.data['cancelled_at'] === event?.time,
      event?.data['updated_at'] === event?.time,
    ]);
    t.deepEqual(shapes, [
      [143, false, true, true],
      [143, true, true, true],
      [137, true, true, true],
    ]);
  });

  test('an execution expires before it was sent, and while it runs', async (t) => {
    const agent = await fixture.healthyAgent();
    const away = await fixture.raw();
    const never = await fixture.fleet.run('true', { ...only(away.node_id), expired_at: muchLater() });
    const running = await fixture.fleet.run('sleep 1000', { ...only(agent.node), expired_at: muchLater() });
    await fixture.fleet.settled(running, ([one]) => one?.status === 'sent');
    const expiredAt = [await expireIn(fixture.fleet, never), await expireIn(fixture.fleet, running)];

    const [unsent, ended] = await Promise.all(
      [never, running].map(({ id }) => fixture.toldOnce('edge.command_execution.expired', { command_id: id })),
    );

    t.deepEqual(
      [unsent, ended].map((event) => [
        event?.data['expired_at'],
        event?.data['sent_at'] !== null,
        event?.data['updated_at'] === event?.time,
      ]),
      [
        [expiredAt[0], false, true],
        [expiredAt[1], true, true],
      ],
    );
    t.true((unsent?.time ?? '') >= (expiredAt[0] ?? ''));
  });

  test('a finished execution that is pruned is told of as it was', async (t) => {
    const agent = await fixture.healthyAgent();
    const command = await fixture.fleet.run('exit 5', only(agent.node));
    await fixture.fleet.settled(command);
    const { data } = await fixture.toldOnce('edge.command_execution.completed', { command_id: command.id });
    const beganMs = Date.now(); // from the next line on an admin may do it by itself
    await fixture.fleet.sql(
      `update command_execution set finished_at = finished_at - interval '31 days' where command_id = $1`,
      [command.id],
    );

    await sweepsOf(fixture.pool).prunings.executions(); // as the admin does each minute

    const pruned = await fixture.toldOnce('edge.command_execution.pruned', { command_id: command.id });
    t.deepEqual(pruned.data, data);
    t.true(Date.parse(pruned.time) >= beganMs && Date.parse(pruned.time) <= Date.now(), pruned.time);
  });
}
