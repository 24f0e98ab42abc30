/** What is answered to a query, byte by byte. */
import test from 'ava';
import { decode, encode, type Answer, type DecodedPacket, type RecordType } from 'dns-packet';
import * as fc from 'fast-check';
import { vpnRecords, type VpnRecords } from '../../../../../agent/vpn/names/records.ts';
import { replyTo } from '../../../../../agent/vpn/names/reply.ts';
import { network, OTHER, peer, SELF } from '../../../../support/agent/names-fixture.ts';

const RECORDS = recordsOf('prod.edge.internal');
const NODE = `node-${OTHER}.prod.edge.internal`;

/** As dns-packet reads it; it knows the code, and its types do not. */
type Reply = DecodedPacket & { readonly rcode: string };

function recordsOf(domain: string): VpnRecords {
  const made = vpnRecords(SELF, network({ domain }), [peer(OTHER, 3, ['web-1']), peer(null, 1)]);
  if (made === null) throw new Error('no records');
  return made;
}

function edns(udpPayloadSize: number, ednsVersion = 0): Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize,
    ednsVersion,
    extendedRcode: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
}

function query(name: string, type: string, additionals: Answer[] = []): Buffer {
  return encode({
    type: 'query',
    id: 4_242,
    flags: 0x01_00,
    questions: [{ name, type: type as RecordType }],
    additionals,
  });
}

function ask(
  name: string,
  type: string,
  {
    additionals = [],
    transport = 'udp',
    records = RECORDS,
  }: { readonly additionals?: Answer[]; readonly transport?: 'udp' | 'tcp'; readonly records?: VpnRecords } = {},
): Reply {
  const answer = replyTo(query(name, type, additionals), transport, records);
  if (answer === null) throw new Error('no answer');
  return decode(answer) as Reply;
}

/** Code, whether it is authoritative, types and data of answers, types of authorities. */
function gist({ rcode, flag_aa, answers = [], authorities = [] }: Reply): unknown {
  return [
    rcode,
    flag_aa,
    answers.map((answer) => `${answer.type} ${'data' in answer ? JSON.stringify(answer.data) : ''}`),
    authorities.map(({ type }) => type),
  ];
}

test('a name has its two addresses, and nothing of any other type', (t) => {
  t.deepEqual(gist(ask('web-1.prod.edge.internal', 'A')), ['NOERROR', true, ['A "100.64.1.3"'], []]);
  t.deepEqual(gist(ask('web-1.cluster-prod.edge.internal', 'AAAA')), ['NOERROR', true, ['AAAA "fd00:64:1::3"'], []]);
  t.deepEqual(gist(ask('web-1.prod.edge.internal', 'ANY')), [
    'NOERROR',
    true,
    ['A "100.64.1.3"', 'AAAA "fd00:64:1::3"'],
    [],
  ]);
  for (const type of ['MX', 'TXT', 'HTTPS', 'PTR', 'SOA', 'NS', 'UNKNOWN_65280'])
    t.deepEqual(gist(ask('web-1.prod.edge.internal', type)), ['NOERROR', true, [], ['SOA']], type);
});

test('a name below the domain that nobody has does not exist, below a member neither', (t) => {
  for (const name of [
    'web-2.prod.edge.internal',
    'x.web-1.prod.edge.internal',
    'node-x.cluster-prod.edge.internal',
    '_tcp.prod.edge.internal',
  ])
    t.deepEqual(gist(ask(name, 'A')), ['NXDOMAIN', true, [], ['SOA']], name);
});

test('the domain itself has a server and an authority, and no address', (t) => {
  const [own] = RECORDS.self.names;
  t.deepEqual(gist(ask('prod.edge.internal', 'NS')), ['NOERROR', true, [`NS "${own}"`], []]);
  t.deepEqual(
    ask('prod.edge.internal', 'NS').additionals?.map(({ type }) => type),
    ['A', 'AAAA'],
  );
  t.like(ask('cluster-prod.edge.internal', 'SOA').answers?.[0], {
    type: 'SOA',
    name: 'cluster-prod.edge.internal',
    ttl: 0,
  });
  t.deepEqual(gist(ask('prod.edge.internal', 'A')), ['NOERROR', true, [], ['SOA']]);
});

test('addresses have names, in both families; between the range and its addresses is something, and beside them nothing', (t) => {
  const v6 = `3.${'0.'.repeat(19)}1.0.0.0.4.6.0.0.0.0.d.f.ip6.arpa`;
  t.deepEqual(gist(ask('3.1.64.100.in-addr.arpa', 'PTR')), ['NOERROR', true, [`PTR "${NODE}"`], []]);
  t.deepEqual(gist(ask(v6.toUpperCase(), 'PTR')), ['NOERROR', true, [`PTR "${NODE}"`], []]);
  t.deepEqual(gist(ask(v6.slice(8), 'PTR')), ['NOERROR', true, [], ['SOA']]);
  t.deepEqual(gist(ask('1.64.100.in-addr.arpa', 'PTR')), ['NOERROR', true, [], ['SOA']]);
  t.deepEqual(gist(ask('77.1.64.100.in-addr.arpa', 'PTR')), ['NXDOMAIN', true, [], ['SOA']]);
  for (const name of [
    '3.2.64.100.in-addr.arpa',
    '64.100.in-addr.arpa',
    '1.0.0.127.in-addr.arpa',
    'in-addr.arpa',
    'ip6.arpa',
  ])
    t.deepEqual(gist(ask(name, 'PTR')), ['REFUSED', false, [], []], name);
});

test('whatever is not of the cluster is refused, and so are whole zones', (t) => {
  for (const name of [
    'example.com',
    'edge.internal',
    'web-1.lab.edge.internal',
    'xprod.edge.internal',
    'internal',
    '.',
    'prod.edge.internal.example.com',
  ])
    t.deepEqual(gist(ask(name, 'A')), ['REFUSED', false, [], []], name);
  for (const type of ['AXFR', 'IXFR']) t.deepEqual(gist(ask('prod.edge.internal', type)), ['REFUSED', false, [], []]);
  const chaos = encode({
    type: 'query',
    id: 1,
    questions: [{ name: 'web-1.prod.edge.internal', type: 'A', class: 'CH' }],
  });
  t.is((decode(replyTo(chaos, 'udp', RECORDS) ?? Buffer.alloc(0)) as Reply).rcode, 'REFUSED');
});

test('case does not matter, and comes back as it was asked', (t) => {
  const { questions, answers } = ask('wEb-1.PrOd.eDGE.internal', 'A');

  t.deepEqual([questions?.[0]?.name, answers?.[0]?.name], ['wEb-1.PrOd.eDGE.internal', 'wEb-1.PrOd.eDGE.internal']);
});

test('who speaks EDNS is answered in EDNS, one of a version to come with the one we know', (t) => {
  t.deepEqual(ask('web-1.prod.edge.internal', 'A').additionals, []);
  t.like(ask('web-1.prod.edge.internal', 'A', { additionals: [edns(4_096)] }).additionals?.[0], {
    type: 'OPT',
    udpPayloadSize: 1_232,
    ednsVersion: 0,
    extendedRcode: 0,
  });
  t.like(ask('example.com', 'A', { additionals: [edns(4_096)] }).additionals?.[0], { type: 'OPT' });
  const { additionals, answers } = ask('web-1.prod.edge.internal', 'A', { additionals: [edns(1_232, 1)] });
  t.like(additionals?.[0], { type: 'OPT', ednsVersion: 0, extendedRcode: 1 });
  t.deepEqual(answers, []);
  t.is(ask('web-1.prod.edge.internal', 'A', { additionals: [edns(1_232), edns(1_232)] }).rcode, 'FORMERR');
});

test('an answer that is longer than its asker takes is cut to nothing and says so, but not over TCP', (t) => {
  const domain = `prod.${Array.from({ length: 3 }, () => 'd'.repeat(60)).join('.')}`;
  const records = recordsOf(domain);
  const name = `web-1.${domain}`;

  const cut = ask(name, 'ANY', { records });
  t.deepEqual([cut.flag_tc, cut.flag_aa, cut.answers?.length, cut.questions?.[0]?.name], [true, true, 0, name]);
  for (const whole of [
    ask(name, 'ANY', { records, additionals: [edns(1_232)] }),
    ask(name, 'ANY', { records, transport: 'tcp' }),
  ])
    t.deepEqual([whole.flag_tc, whole.answers?.length], [false, 2]);
  t.true((replyTo(query(name, 'ANY', [edns(1)]), 'udp', records)?.length ?? 0) <= 512);
});

test('what is no query is not answered, and what is no query of ours gets its code', (t) => {
  const good = query('web-1.prod.edge.internal', 'A');
  const changed = (at: number, value: number) => Buffer.from(good).fill(value, at, at + 1);
  const code = (bytes: Buffer) => {
    const answer = replyTo(bytes, 'udp', RECORDS);
    return answer === null ? null : (decode(answer) as Reply).rcode;
  };

  t.is(code(good.subarray(0, 11)), null);
  t.is(code(changed(2, 0x81)), null); // an answer: two servers would talk for ever
  t.is(code(changed(2, 0x20)), 'NOTIMP'); // NOTIFY
  t.is(code(changed(5, 0)), 'FORMERR');
  t.is(code(changed(5, 2)), 'FORMERR');
  t.is(code(changed(7, 1)), 'FORMERR');
  t.is(code(changed(11, 1)), 'FORMERR'); // an additional record that is not there
  t.is(code(changed(12, 0xc0)), 'FORMERR'); // a pointer in a question
  t.is(code(good.subarray(0, -1)), 'FORMERR');
});

test('a dot in a label makes no other name of it', (t) => {
  const bytes = query('web-1xprod.edge.internal', 'A');
  bytes.write('.', 12 + 1 + 'web-1'.length); // one label, `web-1.prod`

  const answer = replyTo(bytes, 'udp', RECORDS);

  t.is((answer?.readUInt16BE(2) ?? 0) & 15, 5);
  t.deepEqual(answer?.subarray(12, bytes.length), bytes.subarray(12)); // byte for byte, else the client waits
});

test('names in foreign bytes are refused with their question as it was', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { minLength: 1, maxLength: 3 }), (labels) => {
      const name = Buffer.concat([
        ...labels.flatMap((label) => [Buffer.from([label.length]), label]),
        Buffer.from([0]),
      ]);
      const bytes = Buffer.concat([Buffer.from('000101000001000000000000', 'hex'), name, Buffer.from([0, 1, 0, 1])]);
      const answer = replyTo(bytes, 'udp', RECORDS);
      t.deepEqual(answer?.subarray(12), bytes.subarray(12));
      t.is(answer?.readUInt16BE(2), 0x81_05);
    }),
  );
});

test('no packet, hostile or broken, is thrown over, answered at length, or answered with the id of another', (t) => {
  const good = query('web-1.prod.edge.internal', 'A', [edns(1_232)]);
  const broken = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
    const bytes = Buffer.from(good);
    for (const [at, value] of changes) bytes[at] = value;
    return bytes;
  });
  const cut = fc.nat(good.length).map((length) => good.subarray(0, length));
  const noise = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
  let answered = 0;

  fc.assert(
    fc.property(fc.oneof(broken, cut, noise), fc.constantFrom('udp', 'tcp'), (bytes, transport) => {
      const answer = replyTo(bytes, transport, RECORDS);
      if (answer === null) return;
      answered += 1;
      t.is(answer.readUInt16BE(0), bytes.readUInt16BE(0));
      t.true((answer.readUInt16BE(2) & 0x80_00) !== 0 && answer.length <= 1_232);
      decode(answer.subarray(0, 12).fill(0, 4)); // its head is one
    }),
    { numRuns: 5_000 },
  );

  t.true(answered > 1_000);
});
