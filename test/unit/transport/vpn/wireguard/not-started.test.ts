import test from 'ava';
import { DEVICE_LIMITS } from '../../../../../transport/vpn/wireguard/limits.ts';
import { DeviceProblem } from '../../../../../transport/vpn/wireguard/problem.ts';
import { LINUX, ProgramFailure, run } from '../../../../../transport/vpn/wireguard/programs.ts';
import { startUserSpace } from '../../../../../transport/vpn/wireguard/user-space.ts';

/** More than the kernel takes in one word, as if it had no memory left. Source: execve(2), MAX_ARG_STRLEN. */
const LONG = 'x'.repeat(200_000);

test('a program that the system does not start is a failure with its reason', async (t) => {
  await t.throwsAsync(run('/bin/true', [LONG], DEVICE_LIMITS), {
    instanceOf: ProgramFailure,
    message: '/bin/true: it failed (E2BIG)',
  });
  await t.throwsAsync(
    startUserSpace(LONG, { machine: { ...LINUX, wireguardGo: '/bin/true' }, limits: DEVICE_LIMITS }),
    {
      instanceOf: DeviceProblem,
      message: 'wireguard-go could not be started (E2BIG)',
    },
  );
});
