/** Mirrors that have no place for a machine: how long it waits, and for whom. */
import test from 'ava';
import { RunningUpdates } from '../../../agent/updater/running-updates.ts';
import { wouldBe } from '../../../agent/updater/serve.ts';
import { mirrorReleases } from '../../support/releases/release-mirror.ts';
import { outdatedFixture, storedState } from '../../support/updater/fixture.ts';
import { until } from '../../support/until.ts';

test('a machine that finds all places taken waits for one, with metadata and with files', async (t) => {
  const machine = await outdatedFixture(t);
  const asked = new Map<string, number>();
  machine.mirror.behave((path) => {
    asked.set(path, (asked.get(path) ?? 0) + 1);
    return (asked.get(path) ?? 0) <= 3 ? 'busy' : 'ok';
  });

  const { outcome } = await machine.update({}, { retries: { triesMax: 2, msMax: 60_000, waitSecondsMax: 0.01 } });

  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
  t.deepEqual(
    [...asked].filter(([, times]) => times <= 3),
    [],
    'what was busy was asked until it was not',
  );
});

test('a request that comes while another one waits for a place is what the update is for from then on', async (t) => {
  const machine = await outdatedFixture(t);
  const updates = new RunningUpdates(
    machine.parts({ retries: { triesMax: 2, msMax: 600_000, waitSecondsMax: 0.01 } }),
    () => {},
  );
  machine.mirror.behave(() => 'busy');
  const first = updates.update({ request: 'first', force: false });
  await until('that it waits', () => machine.lines.some((line) => line.includes('it is asked again')));

  const second = updates.update({ request: 'second', force: false });
  const waiting = storedState(machine).phase;
  const byHand = updates.update({ request: null, force: false });
  machine.mirror.behave(() => 'ok');
  await until('the new version', () => storedState(machine).phase.step === 'watching');
  const late = updates.update({ request: 'late', force: false });

  t.is(waiting.step === 'preparing' && waiting.wish.request, 'second', 'it is on the disk');
  t.deepEqual([byHand, late], [null, null]);
  const outcome = await second?.finished;
  t.like(outcome, { request: 'second', outcome: 'updated', error: null });
  t.is(await first?.finished, outcome ?? null);
});

test('a mirror that stays busy leads to the next, and is told where there is none', async (t) => {
  const machine = await outdatedFixture(t);
  const full = await mirrorReleases(t, machine.releases.directory);
  full.behave(() => 'busy');
  const retries = { triesMax: 2, msMax: 0, waitSecondsMax: 0.01 };
  const { config } = machine.parts();

  const alone = await machine.update({}, { retries, config: { ...config, UPDATER_MIRRORS: [full.url] } });
  const look = wouldBe(machine.parts({ config: { ...config, UPDATER_MIRRORS: [full.url] } }));
  await t.throwsAsync(look, { message: /answered 503/u }, 'who only looks does not wait');
  const beside = [full.url, machine.mirror.url];
  const { outcome } = await machine.update({}, { retries, config: { ...config, UPDATER_MIRRORS: beside } });

  t.like(alone.outcome, { outcome: 'unchanged' });
  t.regex(alone.outcome?.error ?? '', /^http:\S+\/2\.root\.json answered 503$/u);
  t.is(outcome?.outcome, 'updated', outcome?.error ?? '');
});

test('an update waits for a busy mirror no longer than it has in all, whatever others sent meanwhile', async (t) => {
  const machine = await outdatedFixture(t);
  const full = await mirrorReleases(t, machine.releases.directory);
  full.behave(() => 'busy');
  let answers = 0;
  machine.mirror.behave((path) =>
    !path.startsWith('targets/files/') ? 'ok' : ++answers % 3 === 0 ? 'garbage' : 'cut',
  );
  const config = { ...machine.parts().config, UPDATER_MIRRORS: [full.url, machine.mirror.url] };
  const retries = { triesMax: 1, msMax: 500, waitSecondsMax: 0.01 };

  const { outcome } = await machine.update({}, { retries, config });

  t.is(outcome?.outcome, 'unchanged');
  t.regex(outcome?.error ?? '', /could not be fetched: http:.+ answered 503$/u);
});
