/** Relay maps as they are published, good and hostile. */
import * as fc from 'fast-check';
import test from 'ava';
import { MAP_BYTES_MAX, NODES_MAX, readRelayMap, REGIONS_MAX } from '../../../../../transport/vpn/relay-map/map.ts';

const node = (more: object = {}) => ({ Name: '900a', RegionID: 900, HostName: 'relay.example.com', ...more });
const region = (...nodes: readonly object[]) => ({ RegionID: 900, RegionCode: 'eu', Nodes: nodes });
const read = (map: unknown) => readRelayMap(JSON.stringify(map));
const problemOf = (map: unknown) => {
  const one = read(map);
  return one.ok ? null : one.problem;
};

test('a map gives relays with where and as whom they are reached', (t) => {
  const map = read({
    Regions: {
      900: region(
        node(),
        node({ CertName: 'other.example.com', DERPPort: 8_443, IPv4: '198.51.100.7', IPv6: 'none' }),
        node({ CertName: `sha256-raw:${'AB'.repeat(32)}`, DERPPort: 0, IPv4: '', IPv6: '2001:db8::7' }),
        node({ InsecureForTests: true, CertName: 'x' }),
        node({ STUNOnly: true }),
      ),
      901: null,
      902: { RegionID: 902, Nodes: [node({ STUNOnly: true })] },
      903: { RegionID: 903, Nodes: null },
      904: {
        RegionID: 904,
        RegionCode: 'far',
        Avoid: true,
        Latitude: 1.5,
        Unknown: { deep: [] },
        Nodes: [null, node({ RegionID: 904, STUNPort: -1, CanPort80: true })],
      },
    },
    HomeParams: { RegionScore: { 904: 0.5 } },
    omitDefaultRegions: true,
  });

  t.deepEqual(map.ok && [...map.map.regions.values()], [
    {
      id: 900,
      code: 'eu',
      isHome: true,
      score: 1,
      nodes: [
        {
          name: '900a',
          hostName: 'relay.example.com',
          port: 443,
          addresses: [],
          closedFamilies: [],
          identity: { kind: 'name', name: 'relay.example.com' },
        },
        {
          name: '900a',
          hostName: 'relay.example.com',
          port: 8_443,
          addresses: ['198.51.100.7'],
          closedFamilies: [6],
          identity: { kind: 'name', name: 'other.example.com' },
        },
        {
          name: '900a',
          hostName: 'relay.example.com',
          port: 443,
          addresses: ['2001:db8::7'],
          closedFamilies: [],
          identity: { kind: 'pin', sha256: 'ab'.repeat(32) },
        },
        {
          name: '900a',
          hostName: 'relay.example.com',
          port: 443,
          addresses: [],
          closedFamilies: [],
          identity: { kind: 'unverified' },
        },
      ],
    },
    {
      id: 904,
      code: 'far',
      isHome: false,
      score: 0.5,
      nodes: [
        {
          name: '900a',
          hostName: 'relay.example.com',
          port: 443,
          addresses: [],
          closedFamilies: [],
          identity: { kind: 'name', name: 'relay.example.com' },
        },
      ],
    },
  ]);
});

test('a hostile or broken map is none as a whole, and says in half a sentence why', (t) => {
  t.deepEqual(
    [
      problemOf(null),
      problemOf([]),
      problemOf({ Regions: {} }),
      problemOf({ Regions: { 900: null } }),
      problemOf({ Regions: { 900: { ...region(node()), RegionID: 7 } } }),
      problemOf({ Regions: { 900: region(node({ HostName: 'a b' })) } }),
      problemOf({ Regions: { 900: region(node({ HostName: 'x\r\nhost: y' })) } }),
      problemOf({ Regions: { 900: region(node({ IPv4: '127.1' })) } }),
      problemOf({ Regions: { 900: region(node({ CertName: 'sha256-raw:12' })) } }),
      problemOf({ Regions: { 900: region(node({ DERPPort: 65_536 })) } }),
      problemOf({ Regions: { 900: region(...Array.from({ length: NODES_MAX + 1 }, () => node())) } }),
      problemOf({ Regions: { 900: region(node()) }, HomeParams: { RegionScore: { 900: 0 } } }),
      problemOf({
        Regions: Object.fromEntries(
          Array.from({ length: REGIONS_MAX + 1 }, (_, index) => [
            index + 1,
            { ...region(node()), RegionID: index + 1 },
          ]),
        ),
      }),
    ],
    [
      'it is no relay map',
      'it is no relay map',
      'it names no relay',
      'it names no relay',
      'it is no relay map: region 900 says that it is 7',
      'it is no relay map: Regions.900.Nodes.0.HostName is wrong',
      'it is no relay map: Regions.900.Nodes.0.HostName is wrong',
      'it is no relay map: Regions.900.Nodes.0.IPv4 is wrong',
      'it is no relay map: Regions.900.Nodes.0.CertName is wrong',
      'it is no relay map: Regions.900.Nodes.0.DERPPort is wrong',
      'it is no relay map: Regions.900.Nodes is wrong',
      'it is no relay map: HomeParams.RegionScore.900 is wrong',
      `it has more than ${REGIONS_MAX} regions`,
    ],
  );
  t.deepEqual(
    [readRelayMap('{'), readRelayMap(`"${'x'.repeat(MAP_BYTES_MAX)}"`)],
    [
      { ok: false, problem: 'it is no relay map' },
      { ok: false, problem: 'it is too large' },
    ],
  );
});

test('any JSON is a map or none, and never a fault', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      t.is(
        typeof readRelayMap(JSON.stringify({ Regions: { 900: { RegionID: 900, Nodes: value } }, HomeParams: value }))
          .ok,
        'boolean',
      );
      t.is(typeof readRelayMap(JSON.stringify(value)).ok, 'boolean');
    }),
    { numRuns: 200 },
  );
});
