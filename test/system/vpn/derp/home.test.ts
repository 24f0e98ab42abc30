/** In which region members wait. */
import test from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { startDerper } from '../../../support/vpn/derper.ts';
import { mapOf, startRelay } from '../../../support/vpn/relay.ts';
import { until } from '../../../support/until.ts';
import { chooseHome, measureRegions } from '../../../../transport/vpn/derp/home.ts';

const derper = await peerTest('derper');

const node = (id: number) => ({ Name: `${id}a`, RegionID: id, HostName: 'relay.example.com' });
const map = mapOf({
  Regions: {
    901: { RegionID: 901, Nodes: [node(901)] },
    902: { RegionID: 902, Nodes: [node(902)] },
    903: { RegionID: 903, Nodes: [node(903)] },
    904: { RegionID: 904, NoMeasureNoHome: true, Nodes: [node(904)] },
  },
  HomeParams: { RegionScore: { 903: 10 } },
});

test('the fastest region is the home, by what the map makes of its latency', (t) => {
  t.is(
    chooseHome(
      null,
      new Map([
        [901, 50],
        [902, 20],
        [903, 5],
        [904, 1],
      ]),
      map,
    ),
    902,
  );
  t.is(chooseHome(null, new Map(), map), null);
});

test('a home is kept until it does not answer, or another is faster by a third and by 10 ms', (t) => {
  const choices = [
    chooseHome(
      901,
      new Map([
        [901, 50],
        [902, 35],
      ]),
      map,
    ), // not a third
    chooseHome(
      901,
      new Map([
        [901, 12],
        [902, 3],
      ]),
      map,
    ), // not 10 ms
    chooseHome(
      901,
      new Map([
        [901, 50],
        [902, 30],
      ]),
      map,
    ),
    chooseHome(901, new Map([[902, 300]]), map),
  ];

  t.deepEqual(choices, [901, 901, 902, 902]);
});

/** Latencies once this region has one: a busy machine may be late with an answer. */
function measured(id: number, regions: Parameters<typeof measureRegions>[0]['regions']) {
  return until('a latency', async () => {
    const latencies = await measureRegions({ regions }, {});
    return latencies.has(id) && latencies;
  });
}

test('regions that answer are measured, and those that do not are left out', async (t) => {
  const [near, dead] = [await startRelay(t, { regionId: 910 }), await startRelay(t, { regionId: 911 })];
  await dead.stop();

  const latencies = await measured(910, new Map([...near.map.regions, ...dead.map.regions]));

  t.deepEqual([...latencies.keys()], [910]);
  t.true((latencies.get(910) ?? -1) > 0);
});

derper('a real derper is measured', async (t) => {
  const { region } = await startDerper(t);

  const latencies = await measured(region.id, new Map([[region.id, region]]));

  t.true((latencies.get(region.id) ?? -1) > 0);
});
