/** What an updater must do so that agents can ask it, whoever made it. */
import type { ExecutionContext } from 'ava';
import type { PeerTest } from '../../support/run/peer-test.ts';
import { updaterCheck } from '../../../agent/observability/doctor/updater.ts';
import { signalUpdate, type SignalLimits } from '../../../agent/update/signal.ts';

/** The request of all of these tests. */
export const REQUEST = '0190f5c2-7a11-7c3e-8f00-000000000001';

/** An updater that runs. */
export interface ContractUpdater {
  readonly url: string;
  readonly token: string;
  /** Updates that it began. */
  readonly begun: () => number;
}

/** What an agent says when it has asked this updater. */
export function signal(
  { url, token }: Pick<ContractUpdater, 'url' | 'token'>,
  limits: SignalLimits = {},
): Promise<string | null> {
  return signalUpdate({ url, token }, REQUEST, AbortSignal.timeout(120_000), limits);
}

/** Declares the tests for an updater that `start` starts. */
export function updaterContract(
  test: Pick<PeerTest, 'serial'>,
  name: string,
  start: (t: ExecutionContext) => Promise<ContractUpdater>,
): void {
  test.serial(`${name}: takes the signal of an agent that shows its token, and begins one update`, async (t) => {
    const updater = await start(t);

    t.is(await signal(updater), null);
    t.is(updater.begun(), 1);
  });

  test.serial(
    `${name}: begins nothing for an agent with another token, which says which setting is wrong`,
    async (t) => {
      const updater = await start(t);

      t.regex(
        (await signal({ ...updater, token: 'another-token' })) ?? '',
        /refuses the token \(401\): AGENT_UPDATER_TOKEN/u,
      );
      t.is(updater.begun(), 0);
    },
  );

  test.serial(`${name}: the doctor of an agent begins no update`, async (t) => {
    const updater = await start(t);
    const check = updaterCheck({ isEnabled: true, ...updater, pinPath: '/nonexistent' });

    t.is((await check.look(AbortSignal.timeout(10_000))).status, 'pass');
    t.is(updater.begun(), 0);
  });
}
