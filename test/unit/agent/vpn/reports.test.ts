/** When an agent reports how well it is connected in its VPN. */
import test from 'ava';
import { Reports } from '../../../../agent/vpn/reports.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

function countedReports() {
  const clock = createFakeClock();
  const counted = { reports: 0 };
  const reports = new Reports(clock, () => {
    counted.reports += 1;
    return true;
  });
  return { clock, counted, reports };
}

test('reports come every 30 s, and within a second of a change', (t) => {
  const { clock, counted, reports } = countedReports();

  reports.start();
  clock.pass(30_000);
  const regular = counted.reports;
  reports.soon();
  reports.soon();
  clock.pass(1_000);

  t.deepEqual([regular, counted.reports], [1, 2]);
});

test('a path that changes after the end of reports is not told, until they start again', (t) => {
  const { clock, counted, reports } = countedReports();
  reports.start();

  reports.stop();
  reports.soon();
  const armed = clock.waiting();
  clock.pass(60_000);
  const whileStopped = counted.reports;
  reports.start();
  reports.soon();
  clock.pass(1_000);

  t.deepEqual([armed, whileStopped, counted.reports], [0, 0, 1]);
});
