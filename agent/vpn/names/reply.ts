/** What the resolver answers. Pure: a query as it came, the names, and the answer as it goes. */
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_DESIRED, TRUNCATED_RESPONSE } from 'dns-packet';
import type { Answer, OptAnswer } from 'dns-packet';
import { NAME_TTL_SECONDS, PLAIN_ANSWER_BYTES_MAX, UDP_ANSWER_BYTES_MAX } from './limits.ts';
import type { VpnRecords } from './records.ts';

/** How a query came. */
export type DnsTransport = 'udp' | 'tcp';

/** Source: RFC 1035, 4.1.1; RFC 6891, 9. */
const RCODE = { noError: 0, formatError: 1, nameError: 3, notImplemented: 4, refused: 5, badVersion: 16 } as const;
type Rcode = (typeof RCODE)[keyof typeof RCODE];

/** Source: RFC 1035, 3.2.2 to 3.2.5; RFC 3596. AXFR and IXFR would hand out all names at once. */
const TYPE = { a: 1, ns: 2, soa: 6, ptr: 12, aaaa: 28, ixfr: 251, axfr: 252, all: 255 } as const;
const CLASS_IN = 1;
const CLASS_ANY = 255;

const HEADER_BYTES = 12;
const RESPONSE_BIT = 0x80_00;

/** Labels and root of a name, with their lengths. Source: RFC 1035, 3.1. */
const WIRE_NAME_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;

/** Records that may follow the question: EDNS, and a signature or two that we do not know. */
const ADDITIONALS_MAX = 4;

/** What names here are made of. Others are nobody's. */
const LABEL = /^[\w-]+$/u;

/**
 * A question. `name` as it was written, null when it holds what no host name does; `end`: where it ends in the query.
 */
interface Question {
  readonly name: string | null;
  readonly type: number;
  readonly class: number;
  readonly end: number;
}

/** Sections of an answer. */
interface Sections {
  readonly rcode: Rcode;
  readonly isOurs: boolean;
  readonly answers?: readonly Answer[];
  readonly authorities?: readonly Answer[];
  readonly additionals?: readonly Answer[];
}

/**
 * The answer to a query, never longer than its asker takes; null: none is due, as to what is no query. Never throws,
 * whatever comes.
 * Authoritative for the names and addresses of the cluster; everything else is refused, so that others are asked.
 */
export function replyTo(query: Buffer, transport: DnsTransport, records: VpnRecords): Buffer | null {
  if (query.length < HEADER_BYTES) return null;
  const flags = query.readUInt16BE(2);
  if ((flags & RESPONSE_BIT) !== 0) return null; // two servers would answer each other for ever
  if (((flags >> 11) & 15) !== 0) return bare(query, RCODE.notImplemented);
  const question = onlyQuestion(query);
  const edns = question === null ? null : ednsOf(query);
  if (question === null || edns === 'broken') return bare(query, RCODE.formatError);

  const bytesMax =
    transport === 'tcp'
      ? Number.POSITIVE_INFINITY
      : Math.min(UDP_ANSWER_BYTES_MAX, Math.max(PLAIN_ANSWER_BYTES_MAX, edns?.udpPayloadSize ?? 0));
  const sections: Sections =
    edns !== null && edns.ednsVersion !== 0
      ? { rcode: RCODE.badVersion, isOurs: false }
      : sectionsFor(question, records);
  const whole = written(query, question, sections, edns !== null, false);
  return whole.length <= bytesMax
    ? whole
    : written(query, question, { rcode: sections.rcode, isOurs: sections.isOurs }, edns !== null, true);
}

function sectionsFor({ name, type, class: questionClass }: Question, records: VpnRecords): Sections {
  const lower = name?.toLowerCase() ?? '';
  const zone = zoneOf(lower, records.zones);
  const isTransfer = type === TYPE.axfr || type === TYPE.ixfr;
  if (name === null || zone === null || isTransfer || (questionClass !== CLASS_IN && questionClass !== CLASS_ANY))
    return { rcode: RCODE.refused, isOurs: false };

  const wants = (wanted: number) => type === wanted || type === TYPE.all;
  const soa = soaOf(zone, records);
  const host = records.byName.get(lower);
  const pointer = records.pointers.get(lower);
  const answers: Answer[] = [];
  if (host !== undefined && wants(TYPE.a)) answers.push({ type: 'A', name, ttl: NAME_TTL_SECONDS, data: host.ipv4 });
  if (host !== undefined && wants(TYPE.aaaa))
    answers.push({ type: 'AAAA', name, ttl: NAME_TTL_SECONDS, data: host.ipv6 });
  if (pointer !== undefined && wants(TYPE.ptr))
    answers.push({ type: 'PTR', name, ttl: NAME_TTL_SECONDS, data: pointer });
  if (lower === zone && wants(TYPE.soa)) answers.push({ ...soa, name });
  if (lower === zone && wants(TYPE.ns))
    answers.push({ type: 'NS', name, ttl: NAME_TTL_SECONDS, data: records.self.names[0] });
  if (answers.length > 0)
    return {
      rcode: RCODE.noError,
      isOurs: true,
      answers,
      additionals: lower === zone && type === TYPE.ns ? addressesOf(records.self) : [],
    };

  const isThere = host !== undefined || pointer !== undefined || lower === zone || isAboveOthers(lower, records);
  return { rcode: isThere ? RCODE.noError : RCODE.nameError, isOurs: true, authorities: [soa] };
}

/** The longest zone that a name is, or is below. */
function zoneOf(name: string, zones: ReadonlySet<string>): string | null {
  for (let rest = name; rest !== ''; rest = rest.includes('.') ? rest.slice(rest.indexOf('.') + 1) : '') {
    if (zones.has(rest)) return rest;
  }
  return null;
}

/**
 * Whether there is something below a name that has no records itself, as between a range and its addresses: such a name
 * exists. Source: RFC 8020, 2.
 */
function isAboveOthers(name: string, { pointers }: VpnRecords): boolean {
  return name.endsWith('.arpa') && [...pointers.keys()].some((other) => other.endsWith(`.${name}`));
}

function soaOf(zone: string, { self }: VpnRecords): Answer {
  // Nobody copies these zones: serial, refresh, retry and expire mean nothing. `minimum` is how long a "no" may be kept
  // (RFC 2308, 4).
  return {
    type: 'SOA',
    name: zone,
    ttl: NAME_TTL_SECONDS,
    data: {
      mname: self.names[0],
      rname: `hostmaster.${zone}`,
      serial: 1,
      refresh: 3_600,
      retry: 600,
      expire: 86_400,
      minimum: NAME_TTL_SECONDS,
    },
  };
}

function addressesOf({ names: [name], ipv4, ipv6 }: VpnRecords['self']): readonly Answer[] {
  return [
    { type: 'A', name, ttl: NAME_TTL_SECONDS, data: ipv4 },
    { type: 'AAAA', name, ttl: NAME_TTL_SECONDS, data: ipv6 },
  ];
}

/**
 * The one question, read by hand: dns-packet makes text of labels, and of a label with a dot in it another name. Null:
 * the query is broken.
 */
function onlyQuestion(query: Buffer): Question | null {
  if (
    query.readUInt16BE(4) !== 1 ||
    query.readUInt16BE(6) !== 0 ||
    query.readUInt16BE(8) !== 0 ||
    query.readUInt16BE(10) > ADDITIONALS_MAX
  )
    return null;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]; length !== 0; length = query[at]) {
    if (length === undefined || length > LABEL_BYTES_MAX || at + 1 + length - HEADER_BYTES >= WIRE_NAME_BYTES_MAX)
      return null;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (end > query.length) return null;
  return {
    name: labels.every((label) => LABEL.test(label)) ? labels.join('.') : null,
    type: query.readUInt16BE(at + 1),
    class: query.readUInt16BE(at + 3),
    end,
  };
}

/** What the asker says of itself. Null: it knows no EDNS. Source: RFC 6891. */
function ednsOf(query: Buffer): OptAnswer | null | 'broken' {
  if (query.readUInt16BE(10) === 0) return null;
  try {
    const found = (decode(query).additionals ?? []).filter((record) => record.type === 'OPT');
    return found.length > 1 ? 'broken' : (found[0] ?? null);
  } catch {
    return 'broken';
  }
}

/** An answer that says no more than a code: the question could not be read. */
function bare(query: Buffer, rcode: Rcode): Buffer {
  return encode({
    type: 'response',
    id: query.readUInt16BE(0),
    flags: (query.readUInt16BE(2) & (0x78_00 | RECURSION_DESIRED)) | rcode,
  });
}

/**
 * The question goes back byte for byte, as clients compare it, and in the case in which they asked
 * (draft-vixie-dnsext-dns0x20).
 */
function written(
  query: Buffer,
  question: Question,
  { rcode, isOurs, answers = [], authorities = [], additionals = [] }: Sections,
  isEdns: boolean,
  isTruncated: boolean,
): Buffer {
  const flags =
    (query.readUInt16BE(2) & RECURSION_DESIRED) |
    (rcode & 15) |
    (isOurs ? AUTHORITATIVE_ANSWER : 0) |
    (isTruncated ? TRUNCATED_RESPONSE : 0);
  const opt: OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: UDP_ANSWER_BYTES_MAX,
    extendedRcode: rcode >> 4,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  const rest = encode({
    type: 'response',
    id: query.readUInt16BE(0),
    flags,
    answers: [...answers],
    authorities: [...authorities],
    additionals: [...additionals, ...(isEdns ? [opt] : [])],
  });
  rest.writeUInt16BE(1, 4); // dns-packet compresses nothing, so that the question can be put between
  return Buffer.concat([
    rest.subarray(0, HEADER_BYTES),
    query.subarray(HEADER_BYTES, question.end),
    rest.subarray(HEADER_BYTES),
  ]);
}
