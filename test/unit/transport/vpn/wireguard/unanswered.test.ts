/** A program of an interface that takes questions and answers none: how long it is waited for, and by how many. */
import test from 'ava';
import { DEVICE_LIMITS } from '../../../../../transport/vpn/wireguard/limits.ts';
import { DeviceGone } from '../../../../../transport/vpn/wireguard/problem.ts';
import { scaled } from '../../../../support/busy.ts';
import { deviceAt, serve } from './uapi-fixture.ts';

test('of calls that wait for a program that hangs only so many wait, and others are refused at once', async (t) => {
  const { sockets } = await serve(t, () => {});
  const device = deviceAt(sockets, { answerMsMax: 1_000, waitingCallsMax: 2 });

  const ends = await Promise.all(Array.from({ length: 3 }, () => device.read().catch((error: Error) => error.message)));

  const late = 'wireguard-go failed for the interface wg0: it did not answer within 1000 ms';
  t.deepEqual(ends, [late, late, 'more than 2 calls wait for the interface wg0']);
});

test('an interface whose program takes questions and answers none is lost after some, and not after fewer', async (t) => {
  let isSilent = true;
  const { sockets, heard } = await serve(t, (socket) => {
    if (!isSilent) socket.write('errno=0\n\n');
  });
  const device = deviceAt(sockets, { answerMsMax: scaled(200) });
  const { unansweredMax } = DEVICE_LIMITS;
  const lost: string[] = [];
  device.onLost((problem) => lost.push(problem));
  const isUnanswered = () => t.throwsAsync(device.read(), { message: /did not answer within \d+ ms$/u });
  for (let asked = 1; asked < unansweredMax; asked += 1) await isUnanswered();
  isSilent = false;
  t.deepEqual(await device.read(), []);
  isSilent = true;
  heard.length = 0;

  for (let asked = 1; asked < unansweredMax; asked += 1) await isUnanswered();
  t.deepEqual(lost, []);
  await t.throwsAsync(device.read(), { instanceOf: DeviceGone });

  t.deepEqual(lost, ['the interface wg0 is lost: its program wireguard-go does not answer any more']);
  t.is(heard.length, unansweredMax);
  await t.throwsAsync(device.read(), { instanceOf: DeviceGone });
  t.is(heard.length, unansweredMax, 'it is not asked any more');
  await device.release();
});
