/** What is read of agents that send much: each its share, and all of them together no more than can be stored. */
import test from 'ava';
import { OUTPUT_PART_BYTES_MAX, SESSION_SILENCE_MS_MAX } from '../../../../transport/protocol/limits.ts';
import { BYTES_BURST_MAX, BYTES_PER_SECOND_MAX, UNSTORED_BYTES_MAX } from '../../../../transport/sessions/limits.ts';
import { execution } from '../../../support/actors.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { openGate, type Agent } from './fixture.ts';

/** Has an agent answered often enough that what lies in the sockets of others would have been read too. */
async function pingOften(agent: Agent): Promise<void> {
  const pongs = agent.frames.length;
  for (let ping = 1; ping <= 20; ping += 1) {
    agent.send({ type: 'ping' });
    await until('an answer', () => agent.frames.length === pongs + ping);
  }
}

test.serial(
  'an agent that sends more than its share of bytes is read no faster, loses nothing, and is not cut (L1)',
  async (t) => {
    const clock = createFakeClock();
    const fixture = await openGate(t, { clock });
    const agent = await fixture.live(1);
    const other = await fixture.live(2);
    const text = 'x'.repeat(OUTPUT_PART_BYTES_MAX);
    const parts = Math.ceil((BYTES_BURST_MAX + 3 * BYTES_PER_SECOND_MAX) / OUTPUT_PART_BYTES_MAX);
    for (let part = 0; part < parts; part += 1)
      agent.send({ type: 'tail-output', execution: execution(1), offset: part, text, end: false });
    const heard = () => fixture.sessions.counters.frames.in['tail-output'];
    const comesToRest = () =>
      until('nothing more is read', async () => {
        const before = heard();
        await pingOften(other);
        return before > 0 && heard() === before;
      });

    await comesToRest();
    const inOneGo = heard() * OUTPUT_PART_BYTES_MAX;
    t.true(inOneGo < BYTES_BURST_MAX + 1_000_000, `${inOneGo} bytes`);
    clock.pass(1_000);
    await comesToRest();
    const inASecond = heard() * OUTPUT_PART_BYTES_MAX - inOneGo;
    t.true(inASecond > 0 && inASecond < BYTES_PER_SECOND_MAX + 1_000_000, `${inASecond} bytes in a second`);

    for (let second = 0; second < 4; second += 1) {
      clock.pass(1_000);
      await comesToRest();
    }
    t.is(heard(), parts);
    t.is(fixture.sessions.count(), 2);
  },
);

test.serial(
  'sockets are paused while too much output waits to be stored, are not taken for silent, and go on when it is',
  async (t) => {
    const clock = createFakeClock();
    const fixture = await openGate(t, { clock });
    const agents = [await fixture.live(1), await fixture.live(2), await fixture.live(3), await fixture.live(4)];
    const other = await fixture.live(5);
    const parts = () => fixture.messages('output-part-arrived');
    const part = (index: number) =>
      ({ type: 'output-part', execution: execution(index), part: 0, text: 'x'.repeat(OUTPUT_PART_BYTES_MAX) }) as const;
    const sendParts = (from: number, to: number): void => {
      for (let index = from; index < to; index += 1) for (const agent of agents) agent.send(part(index));
    };

    // 75 MiB, and 64 are the bound; none sends more than its own share. At the bound each has some left, and is paused
    // at the next one.
    const countBeyond = Math.ceil(UNSTORED_BYTES_MAX / JSON.stringify({ seq: 250, ...part(250) }).length);
    sendParts(0, 250);
    await until('all below the bound is read', () => parts().length === 1_000);
    sendParts(250, 300);
    await until('each has gone beyond the bound', () => parts().length >= countBeyond + agents.length - 1);
    await pingOften(other);
    t.true(parts().length <= UNSTORED_BYTES_MAX / OUTPUT_PART_BYTES_MAX + 2 * agents.length, `${parts().length} parts`);
    clock.pass(SESSION_SILENCE_MS_MAX * 3);
    t.is(fixture.sessions.count(), agents.length, 'only the one that is listened to is taken for silent');

    for (let stored = 0; parts().length < 1_200 || stored < 1_200;) {
      for (const { session, execution: id } of parts().slice(stored)) {
        fixture.sessions.send(session, { type: 'part-stored', execution: id, part: 0 });
        stored += 1;
      }
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    await until('all are answered', () => agents.every((agent) => agent.frames.length === 300));
    t.is(fixture.sessions.counters.cut, 0);
  },
);
